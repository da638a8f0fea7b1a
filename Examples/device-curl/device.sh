#!/bin/sh
# A device in curl, openssl and shell. It makes its own identity, registers one app and prints its device token. Then it
# prints each notification as one line of JSON. See docs/device-protocol.md.
#
# usage: device.sh https://HOST:PORT CA.pem BUNDLE-ID [FOLDER]
#
# FOLDER holds what belongs to the device: its key, its certificate, and the identifiers of the notifications it has seen.
set -eu

courier=$1
ca=$2
app=$3
folder=${4:-device}

# How many identifiers are kept, so that no notification is shown twice.
remembered=1000
# The longest delay before connecting again, in seconds. The delay doubles up to this.
longest_delay=30

call() { curl -q -sS --fail-with-body --http2 --cacert "$ca" "$@"; }
as_device() { call --cert "$folder/device.crt" --key "$folder/device.key" "$@"; }

# Activates the device, once in its life: makes a key, which stays here, and gets a certificate for it. If the service
# needs an activation code, it is in the variable CODE.
activate() {
    (umask 077 && openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$folder/device.key") 2>/dev/null
    openssl req -new -key "$folder/device.key" -subj / -out "$folder/device.csr"
    call ${CODE:+-H "activation-code: $CODE"} --data-binary @"$folder/device.csr" -o "$folder/device.crt.new" \
        "$courier/1/activations"
    mv "$folder/device.crt.new" "$folder/device.crt"
}

# Prints a notification unless it was printed before, and then acknowledges it. `sending` is the line's first key.
take() {
    sending=$(printf '%s' "$1" | sed -n 's/^{"sending":\([0-9]*\),.*/\1/p')
    id=$(printf '%s' "$1" | sed -n 's/^{"sending":[0-9]*,"id":"\([0-9a-f-]*\)".*/\1/p')
    # A line without `sending` is no notification. A later version of the service may send such lines.
    [ -n "$sending" ] || return 0
    if ! grep -qx -e "$id" "$folder/seen"; then
        printf '%s\n' "$1"
        echo "$id" >>"$folder/seen"
        if [ "$(wc -l <"$folder/seen")" -gt $((remembered * 2)) ]; then
            tail -n "$remembered" "$folder/seen" >"$folder/seen.new"
            mv "$folder/seen.new" "$folder/seen"
        fi
    fi
    as_device -o "$folder/answer" -d "{\"sendings\":[$sending]}" "$courier/1/acknowledgements"
}

# Keeps the stream of notifications open until it ends.
listen() {
    # Call curl directly and not through the functions above, because this curl process is ended later.
    curl -q -sS --fail-with-body --http2 -N --cacert "$ca" --cert "$folder/device.crt" --key "$folder/device.key" \
        "$courier/1/notifications" >"$folder/lines" &
    stream=$!
    trap 'kill "$stream" 2>/dev/null || true; exit 0' TERM INT
    while read -r line; do
        delay=1
        case $line in
        '{"end":"takenOver"}'*)
            echo "Another connection of this device has taken over." >&2
            exit 1
            ;;
        '{"end":'*) break ;;
        '') ;; # A keep-alive.
        *) take "$line" ;;
        esac
    done <"$folder/lines"
    kill "$stream" 2>/dev/null || true
    wait "$stream" || true
}

mkdir -p "$folder"
touch "$folder/seen"
rm -f "$folder/lines"
mkfifo "$folder/lines"
[ -f "$folder/device.crt" ] || activate
answer=$(as_device -X PUT "$courier/1/apps/$app")
echo "$answer" | sed -n 's/.*"token":"\([0-9a-f]*\)".*/\1/p'
delay=1
while true; do
    listen
    sleep "$delay"
    delay=$((delay * 2 > longest_delay ? longest_delay : delay * 2))
done
