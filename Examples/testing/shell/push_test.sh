#!/usr/bin/env bash
# Tests of a provider that sends with curl. They start their own Carillon. The script exits with 1 if a test fails.
#
# usage: push_test.sh        (CARILLON: the command, if it is not on the path)
#
# Needs curl with HTTP/2, openssl, and python3, which reads the JSON.
set -euo pipefail

# The part that you can keep in your own suite: a service, and a team with one device.

work=$(mktemp -d)
trap 'kill "$service" 2>/dev/null || true; wait "$service" 2>/dev/null || true; rm -rf "$work"' EXIT
mkfifo "$work/ready"
"${CARILLON:-carillon}" serve --store memory --ports ephemeral --json >"$work/ready" 2>"$work/log" &
service=$!
read -r ready <"$work/ready"

# json DOCUMENT KEY …: prints a value of a JSON document. A number as KEY is an index into an array.
json() {
    python3 -c '
import json, sys
value = json.loads(sys.argv[1])
for key in sys.argv[2:]: value = value[int(key) if key.isdigit() else key]
print(value if isinstance(value, (str, int)) else json.dumps(value))' "$@"
}

url=https://$(json "$ready" development provider)
json "$ready" caPEM >"$work/ca.pem"

# manage METHOD PATH [BODY]: sends a request to the management API, and prints the answer.
manage() {
    curl --silent --show-error --fail-with-body --request "$1" "$(json "$ready" management url)$2" \
        --header "Authorization: Bearer $(json "$ready" management key)" \
        ${3+--header "Content-Type: application/json" --data "$3"}
}

team=ABCDE12345
fixture=$(manage POST /v1/fixtures '{"teams":[{"teamID":"ABCDE12345","name":"Shop","apps":["com.example.shop"],
    "devices":[{"name":"phone"}]}]}')
json "$fixture" teams 0 keys 0 privateKey >"$work/key.p8"
key=$(json "$fixture" teams 0 keys 0 keyID)
device=$(json "$fixture" teams 0 devices 0 tokens com.example.shop)

base64url() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }

provider_token() {
    local text
    text=$(printf '{"alg":"ES256","kid":"%s"}' "$key" | base64url).$(
        printf '{"iss":"%s","iat":%d}' "$team" "$(date +%s)" | base64url)
    printf '%s.%s' "$text" "$(printf %s "$text" | openssl dgst -sha256 -sign "$work/key.p8" | base64url)"
}
token=$(provider_token)

# push PAYLOAD [DEVICE]: sends a notification and prints the status. The body of the answer is in $work/answer.
push() {
    curl --silent --http2 --cacert "$work/ca.pem" --output "$work/answer" --write-out '%{http_code}' \
        --header "authorization: bearer $token" --header "apns-topic: com.example.shop" \
        --header "apns-push-type: alert" --data "$1" "$url/3/device/${2:-$device}"
}

failed=0
# expect WHAT GOT WANTED: compares a result with the expected one.
expect() {
    if [[ $2 == "$3" ]]; then
        echo "ok: $1"
    else
        echo "FAILED: $1: $2 instead of $3"
        failed=1
    fi
}

# The tests.

status=$(push '{"aps":{"alert":"Your order is ready"}}')
expect "a notification is accepted" "$status" 200
seen=$(manage POST /v1/requests/wait '{"match":{"team":"ABCDE12345","outcome":"delivered"},"timeout":"PT5S"}')
expect "it was delivered" "$(json "$seen" requests 0 payload aps alert)" "Your order is ready"

status=$(push '{"aps":{"alert":"Hello"}}' 00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0)
expect "a device token of nobody is refused" "$status $(json "$(cat "$work/answer")" reason)" "400 BadDeviceToken"

manage POST /v1/rehearsals '{"rules":[{"match":{"team":"ABCDE12345"},"when":{"first":1},
    "fault":{"answer":{"reason":"ServiceUnavailable"}}}]}' >"$work/rehearsal"
status=$(push '{"aps":{"alert":"Busy"}}')
expect "a busy server says so" "$status $(json "$(cat "$work/answer")" reason)" "503 ServiceUnavailable"
status=$(push '{"aps":{"alert":"Busy"}}')
expect "the next attempt succeeds" "$status" 200

exit "$failed"
