#!/bin/sh
# Gets notifications into the iOS simulator of this Mac: a device in curl, and simctl for each notification. It needs jq.
# docs/ios-simulator.md explains it.
#
# usage: bridge.sh https://HOST:PORT CA.pem BUNDLE-ID [FOLDER]
#
# SIMULATOR is the simulator's identifier; "booted" if it is not set. CODE is the activation code, for the first start.
set -eu

app=$3
folder=${4:-device}

mkdir -p "$folder"
rm -f "$folder/received"
mkfifo "$folder/received"
"$(dirname "$0")/../device-curl/device.sh" "$1" "$2" "$app" "$folder" >"$folder/received" &
device=$!
trap 'kill "$device" 2>/dev/null || true; exit 0' TERM INT

while IFS= read -r line; do
    case $line in
    '{'*)
        # simctl reads the payload from its standard input. It refuses more than 4,096 bytes, and pushes of VoIP.
        printf '%s\n' "$line" | jq --compact-output .payload | xcrun simctl push "${SIMULATOR:-booted}" "$app" - ||
            echo "simctl refused a notification." >&2
        ;;
    *) echo "device token $line" ;;
    esac
done <"$folder/received"
