#!/bin/sh
# An app of the device agent. Usage: app.sh BUNDLE-ID. It needs curl and jq.
set -eu

app=http://agent/v1/apps/${1:?usage: app.sh BUNDLE-ID}
socket=${CARILLON_AGENT_SOCKET:-/run/carillon-device/agent.sock}
folder=$(mktemp -d)
stream=
trap 'kill "$stream" 2>/dev/null || true; rm -r "$folder"' EXIT
trap 'exit 0' TERM INT

ask() { curl --silent --show-error --fail-with-body --unix-socket "$socket" "$@"; }

# Register at each start, and hand the device token to your backend. A refusal says why in its detail.
if ! answer=$(ask --request PUT "$app"); then
    printf '%s\n' "$answer" | jq --raw-output '.detail // empty' >&2 || true
    exit 1
fi
echo "device token $(printf '%s\n' "$answer" | jq --raw-output .token)"

mkfifo "$folder/events"
while true; do
    # Call curl directly and not through the function, because this curl is ended with the script.
    curl --silent --show-error --fail --no-buffer --unix-socket "$socket" "$app/events" >"$folder/events" &
    stream=$!
    while IFS= read -r event; do
        printf '%s\n' "$event" | jq --raw-output '"\(.event) \(.content.title // "") \(.content.body // "")"'
        # Until this is said, the event comes again.
        printf '%s\n' "$event" | jq --compact-output '{deliveries: [.delivery]}' |
            ask --header "Content-Type: application/json" --data-binary @- "$app/handled" >/dev/null || break
    done <"$folder/events"
    # The agent was restarted. What was not handled is still there.
    kill "$stream" 2>/dev/null || true
    wait "$stream" || true
    sleep 1
done
