#!/bin/sh
# A command for "exec" in a manifest of the device agent. The payload is on the standard input; with the exit status 0 the
# event was handled.
set -eu
printf '%s %s: ' "$CARILLON_NOTIFICATION_EVENT" "$CARILLON_NOTIFICATION_BUNDLE_ID"
cat
echo
