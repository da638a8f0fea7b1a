#!/usr/bin/env python3
"""An app of the device agent. Usage: app.py BUNDLE-ID"""

import http.client
import json
import os
import socket
import sys
import time

SOCKET = os.environ.get("CARILLON_AGENT_SOCKET", "/run/carillon-device/agent.sock")


class Agent(http.client.HTTPConnection):
    """HTTP over the agent's Unix socket."""

    def __init__(self):
        super().__init__("agent")

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(SOCKET)


class Refused(Exception):
    """The agent refused a request, and says why."""


def ask(method, path, document=None):
    agent = Agent()
    body = None if document is None else json.dumps(document)
    agent.request(method, path, body, {"Content-Type": "application/json"})
    response = agent.getresponse()
    text = response.read()
    agent.close()
    if response.status >= 400:
        raise Refused(json.loads(text)["detail"])
    return json.loads(text) if text else None


def handle(event):
    content = event.get("content", {})
    print(event["event"], content.get("title", ""), content.get("body", ""), flush=True)


def main(bundle_id):
    app = f"/v1/apps/{bundle_id}"
    # Register at each start, and hand the device token to your backend.
    try:
        print("device token", ask("PUT", app, {})["token"], flush=True)
    except (OSError, http.client.HTTPException, Refused) as error:
        sys.exit(str(error))
    while True:
        try:
            agent = Agent()
            agent.request("GET", app + "/events")
            response = agent.getresponse()
            if response.status != 200:
                raise Refused(json.loads(response.read())["detail"])
            for line in response:
                event = json.loads(line)
                handle(event)
                # Until this is said, the event comes again.
                ask("POST", app + "/handled", {"deliveries": [event["delivery"]]})
        except (OSError, http.client.HTTPException, Refused) as error:
            print(error, file=sys.stderr)
        # The agent was restarted. What was not handled is still there.
        time.sleep(1)


if len(sys.argv) != 2:
    sys.exit(__doc__)
main(sys.argv[1])
