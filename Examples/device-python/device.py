#!/usr/bin/env python3
"""A device in Python, with the stock HTTP/2 library h2 (pip install h2).

It makes its own identity with openssl, registers one app and prints its device token. Then it prints each notification
as one line of JSON. See docs/device-protocol.md.

usage: device.py https://HOST:PORT CA.pem BUNDLE-ID [FOLDER]

FOLDER holds what belongs to the device: its key, its certificate, and the identifiers of the notifications it has seen.
"""

import json
import os
import random
import signal
import socket
import ssl
import subprocess
import sys
import time
from urllib.parse import quote, urlsplit

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
)

REMEMBERED = 1000  # identifiers, so that nothing is shown twice
LONGEST_LINE = 16 * 1024  # bytes
LONGEST_DELAY = 30  # seconds, before connecting again
TIMEOUT = 10  # seconds, for connecting and for one answer
SILENCE = 300  # seconds: the courier sends a keep-alive every four minutes


class Refused(Exception):
    """The courier has refused a request, and trying again does not help."""


class Lost(Exception):
    """The connection has ended."""


class Connection:
    """One HTTP/2 connection, used by one thread."""

    def __init__(self, url, ca, certificate=None, key=None):
        parts = urlsplit(url)
        context = ssl.create_default_context(cafile=ca)
        context.set_alpn_protocols(["h2"])
        if certificate:
            context.load_cert_chain(certificate, key)
        self.authority = parts.netloc
        plain = socket.create_connection((parts.hostname, parts.port), timeout=TIMEOUT)
        self.socket = context.wrap_socket(plain, server_hostname=parts.hostname)
        self.http = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        self.http.initiate_connection()
        self.answers = {}  # by stream: status, headers, body, whether it has ended
        self.flush()

    def flush(self):
        self.socket.sendall(self.http.data_to_send())

    def begin(self, method, path, body=b"", headers=()):
        stream = self.http.get_next_available_stream_id()
        fields = [(":method", method), (":scheme", "https"), (":authority", self.authority), (":path", path)]
        self.answers[stream] = {"status": 0, "headers": {}, "body": b"", "ended": False}
        self.http.send_headers(stream, fields + list(headers), end_stream=not body)
        if body:
            self.http.send_data(stream, body, end_stream=True)
        self.flush()
        return stream

    def receive(self, timeout):
        """Waits for data once, and handles what has come."""
        self.socket.settimeout(timeout)
        data = self.socket.recv(65536)
        if not data:
            raise Lost("the courier closed the connection")
        for event in self.http.receive_data(data):
            answer = self.answers.get(getattr(event, "stream_id", None))
            if isinstance(event, ConnectionTerminated):
                raise Lost((event.additional_data or b"GOAWAY").decode("utf-8", "replace"))
            if isinstance(event, DataReceived):
                self.http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            if answer is None:
                continue
            if isinstance(event, ResponseReceived):
                answer["headers"] = dict(event.headers)
                answer["status"] = int(answer["headers"][":status"])
            elif isinstance(event, DataReceived):
                answer["body"] += event.data
            elif isinstance(event, (StreamEnded, StreamReset)):
                answer["ended"] = True
        self.flush()

    def request(self, method, path, body=b"", headers=()):
        """Reads a complete answer, whose status has to be 2xx."""
        stream = self.begin(method, path, body, headers)
        while not self.answers[stream]["ended"]:
            self.receive(TIMEOUT)
        answer = self.answers.pop(stream)
        if not 200 <= answer["status"] < 300:
            error = Lost if answer["status"] == 429 or answer["status"] >= 500 else Refused
            raise error(f"{method} {path}: {answer['status']} {answer['body'].decode('utf-8', 'replace')}")
        return answer

    def close(self):
        self.socket.close()


class Device:
    def __init__(self, url, ca, folder):
        self.url, self.ca, self.folder = url, ca, folder
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.seen = []
        if os.path.exists(self.path("seen")):
            with open(self.path("seen"), encoding="ascii") as file:
                self.seen = file.read().split()[-REMEMBERED:]

    def path(self, name):
        return os.path.join(self.folder, name)

    def activate(self, code=None):
        """Activates the device, once in its life: makes a key, which stays here, and gets a certificate for it."""
        if os.path.exists(self.path("device.crt")):
            return
        old = os.umask(0o077)
        subprocess.run(
            ["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
            + ["-subj", "/", "-keyout", self.path("device.key"), "-out", self.path("device.csr")],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        os.umask(old)
        with open(self.path("device.csr"), "rb") as file:
            request = file.read()
        connection = Connection(self.url, self.ca)
        headers = [("activation-code", code)] if code else []
        answer = connection.request("POST", "/1/activations", request, headers)
        connection.close()
        with open(self.path("device.crt.new"), "wb") as file:
            file.write(answer["body"])
        os.rename(self.path("device.crt.new"), self.path("device.crt"))

    def connect(self):
        return Connection(self.url, self.ca, self.path("device.crt"), self.path("device.key"))

    def listen(self, app):
        """Registers the app. Prints and acknowledges notifications until the connection ends."""
        connection = self.connect()
        try:
            answer = connection.request("PUT", "/1/apps/" + quote(app, safe=""))
            print(json.loads(answer["body"])["token"], flush=True)
            stream = connection.begin("GET", "/1/notifications")
            while True:
                connection.receive(SILENCE)
                self.take_lines(connection, connection.answers[stream])
        finally:
            connection.close()

    def take_lines(self, connection, answer):
        if answer["status"] not in (0, 200):
            raise Refused(f"GET /1/notifications: {answer['status']}")
        *lines, answer["body"] = answer["body"].split(b"\n")
        sendings = []
        for line in filter(None, lines):  # An empty line is a keep-alive.
            message = json.loads(line)
            if message.get("end") == "takenOver":
                raise Refused("another connection of this device has taken over")
            if "end" in message:
                raise Lost(message["end"])
            if "sending" in message:  # Anything else is of a later version.
                self.take(message)
                sendings.append(message["sending"])
        if sendings:
            body = json.dumps({"sendings": sendings}).encode()
            connection.request("POST", "/1/acknowledgements", body)
        if len(answer["body"]) > LONGEST_LINE:
            raise Lost("a line that does not end")
        if answer["ended"]:
            raise Lost("the stream of notifications has ended")

    def take(self, message):
        if message["id"] in self.seen:
            return
        print(json.dumps(message, ensure_ascii=False), flush=True)
        self.seen = self.seen[1 - REMEMBERED :] + [message["id"]]
        with open(self.path("seen.new"), "w", encoding="ascii") as file:
            file.write("\n".join(self.seen))
        os.rename(self.path("seen.new"), self.path("seen"))


def main(url, ca, app, folder="device"):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    device = Device(url, ca, folder)
    device.activate(os.environ.get("CODE"))
    delay = 0.5
    while True:
        began = time.monotonic()
        try:
            device.listen(app)
        except (Lost, OSError) as error:
            print(f"Disconnected: {error}", file=sys.stderr)
        except Refused as error:
            sys.exit(str(error))
        # The delay doubles and has a random part, so that the devices of a fleet do not come back at the same moment.
        delay = 0.5 if time.monotonic() - began > 5 else min(delay * 2, LONGEST_DELAY)
        time.sleep(delay * random.uniform(0.5, 1))


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
