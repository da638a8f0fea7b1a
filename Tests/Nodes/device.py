"""Devices and providers that speak HTTP/2 themselves (RFC 9113), so that a test sees each notification as often as it was sent.
The client library shows each one once."""

import asyncio
import base64
import collections
import json
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Benchmarks/bench"))

from frames import (  # noqa: E402
    ACKNOWLEDGE, DATA, END_HEADERS, END_STREAM, HEADERS, PING, PREFACE, RESET, SETTINGS, fields, frame)

WINDOW_UPDATE = 8
# The fields of the static table that have a status (RFC 7541, appendix A). Other statuses have a literal.
STATUSES = {0x88: 200, 0x89: 204, 0x8A: 206, 0x8B: 304, 0x8C: 400, 0x8D: 404, 0x8E: 500}
# The digits' codes (RFC 7541, appendix B): three of 5 bits, the others of 6.
CODES = {f"{code:0{5 if code < 3 else 6}b}": str(digit) for digit, code in enumerate([0, 1, 2, *range(0x19, 0x20)])}
LOST = (OSError, EOFError)


def context(authority, identity=None):
    result = ssl.create_default_context(cafile=authority)
    result.set_alpn_protocols(["h2"])
    if identity:
        result.load_cert_chain(identity)
    return result


def status(block):
    """Returns the status of a header block, which is its first field; -1 if it cannot be read. The other side has no dynamic
    table, because the connection allows none."""
    while block and block[0] >> 5 == 1:
        # A change of the table's size.
        block = block[1:]
    if not block or block[0] & 0x80:
        return STATUSES.get(block[0], -1) if block else -1
    # A literal whose name has an index in four or six bits: all that have a status are below 15.
    index = block[0] & (0x3F if block[0] & 0x40 else 0x0F)
    if not 8 <= index <= 14 or len(block) < 2:
        return -1
    text = block[2 : 2 + (block[1] & 0x7F)]
    digits = text.decode("ascii", "replace")
    if block[1] & 0x80:
        bits, digits = "".join(f"{byte:08b}" for byte in text), ""
        while code := next((code for code in CODES if len(digits) < 3 and bits.startswith(code)), None):
            bits, digits = bits[len(code):], digits + CODES[code]
    return int(digits) if digits.isascii() and digits.isdigit() else -1


def text(line):
    """What a message of Web Push says, whose body is not encrypted."""
    body = line["webPush"]["body"]
    return base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)).decode()


class Connection:
    """One HTTP/2 connection. It reads until the other side closes it."""

    # The tasks that read. The event loop alone does not keep a task.
    reading = set()

    @classmethod
    async def open(cls, address, tls, line_arrived=None):
        reader, writer = await asyncio.open_connection(*address, ssl=tls, server_hostname="localhost")
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self = cls()
        self.reader, self.writer, self.line_arrived = reader, writer, line_arrived
        self.local_port = writer.get_extra_info("sockname")[1]
        self.last, self.answers, self.listening, self.unread = -1, {}, None, b""
        # No flow control (initial window and connection window), and no dynamic table for what comes.
        writer.write(
            PREFACE + frame(SETTINGS, 0, 0, b"\x00\x04\x7f\xff\xff\xff" + b"\x00\x01\x00\x00\x00\x00")
            + frame(WINDOW_UPDATE, 0, 0, (2**31 - 65_536 - 1).to_bytes(4, "big")))
        self.ended, self.stream_ended, self.ponged = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.task = asyncio.create_task(self.read())
        cls.reading.add(self.task)
        self.task.add_done_callback(cls.reading.discard)
        return self

    def begin(self, method, path, body=b"", *more):
        self.last += 2
        head = frame(HEADERS, END_HEADERS | (0 if body else END_STREAM), self.last, fields(method, path, *more))
        self.writer.write(head + (frame(DATA, END_STREAM, self.last, body) if body else b""))
        return self.last

    async def request(self, method, path, body=b"", *more):
        """Returns the status and the body; raises ConnectionError if the connection ends first."""
        if self.ended.is_set():
            raise ConnectionError("the connection has ended")
        stream = self.begin(method, path, body, *more)
        self.answers[stream] = [0, b"", asyncio.get_running_loop().create_future()]
        return await self.answers[stream][2]

    def listen(self):
        """Opens the stream of notifications."""
        self.listening = self.begin("GET", "/1/notifications")

    def acknowledge(self, sending):
        """Acknowledges, and does not wait for the answer."""
        self.begin("POST", "/1/acknowledgements", json.dumps({"sendings": [sending]}).encode())

    async def ping(self):
        """Returns when the other side has read everything that was sent before."""
        self.ponged.clear()
        self.writer.write(frame(PING, 0, 0, bytes(8)))
        await self.ponged.wait()

    def close(self):
        self.writer.close()

    async def read(self):
        try:
            while True:
                head = await self.reader.readexactly(9)
                payload = await self.reader.readexactly(int.from_bytes(head[:3], "big"))
                self.received(head[3], head[4], int.from_bytes(head[5:9], "big") & 0x7FFFFFFF, payload)
        except LOST:
            pass
        finally:
            self.ended.set()
            self.stream_ended.set()
            self.writer.close()
            for answer in self.answers.values():
                if not answer[2].done():
                    answer[2].set_exception(ConnectionError("the connection has ended"))
                    # Nobody may wait for it any more.
                    answer[2].exception()

    def received(self, kind, flags, stream, payload):
        if kind == SETTINGS and not flags & ACKNOWLEDGE:
            self.writer.write(frame(SETTINGS, ACKNOWLEDGE, 0))
        elif kind == PING and not flags & ACKNOWLEDGE:
            self.writer.write(frame(PING, ACKNOWLEDGE, 0, payload))
        elif kind == PING:
            self.ponged.set()
        elif kind == DATA and stream == self.listening:
            *lines, self.unread = (self.unread + payload).split(b"\n")
            for line in filter(None, lines):
                self.line_arrived(self, json.loads(line))
        elif kind in (HEADERS, DATA) and stream in self.answers:
            answer = self.answers[stream]
            if kind == HEADERS:
                answer[0] = status(payload)
            else:
                answer[1] += payload
        if kind == RESET or kind in (HEADERS, DATA) and flags & END_STREAM:
            if stream == self.listening:
                self.listening = None
                return self.stream_ended.set()
            answer = self.answers.pop(stream, None)
            if answer and not answer[2].done():
                answer[2].set_result((answer[0], answer[1]))


class Device:
    """A device that connects again and again, and acknowledges each notification as often as it comes."""

    # Where all arrivals are recorded, with the number of the stream. None in tests of this class alone.
    history = None

    def __init__(self, identity, authority, address, app, history=None, name=None):
        self.tls, self.address, self.app = context(authority, identity), address, app
        self.history, self.name, self.epoch = history, name, 0
        self.token = None
        # How often each notification has come, and how often it came again because of `withhold`.
        self.received, self.asked_again = collections.Counter(), collections.Counter()
        # The broadcasts of each channel, in the order in which they came.
        self.broadcasts = collections.defaultdict(list)
        self.connection = None
        # Connections that the device has left without closing them, and what came on them since `expect_silence`.
        self.stale, self.stale_lines = [], []
        self.is_silence_due = False
        # Whether the next notification is acknowledged only on a connection that was left.
        self.withhold = False
        self.refused_acknowledgements = 0
        self.arrived = asyncio.Condition()
        self.fled = asyncio.Event()
        # Whether it connects again when its connection ends.
        self.is_here = asyncio.Event()
        self.is_here.set()
        self.reading = asyncio.create_task(self.run())

    async def run(self):
        while True:
            await self.is_here.wait()
            try:
                connection = await Connection.open(self.address, self.tls, self.line_arrived)
                if not self.is_here.is_set():
                    connection.close()
                    continue
                self.connection = connection
                if self.token is None:
                    status, body = await connection.request("PUT", f"/1/apps/{self.app}")
                    if status != 200:
                        raise ConnectionError("the app is not registered")
                    self.token = json.loads(body)["token"]
                self.epoch += 1
                connection.epoch = self.epoch
                connection.listen()
                self.fled.clear()
                await asyncio.wait(
                    [asyncio.create_task(connection.stream_ended.wait()), asyncio.create_task(self.fled.wait())],
                    return_when=asyncio.FIRST_COMPLETED)
                if connection not in self.stale:
                    connection.close()
            except LOST:
                pass
            self.connection = None
            await asyncio.sleep(0.1)

    async def registered(self):
        while self.token is None:
            await asyncio.sleep(0.02)

    def mailbox(self, place=None):
        """The name of a mailbox in the history: that of the app, what a channel keeps for this device, or the queue of a subscription or of
        another app."""
        return self.name, place or self.app

    async def leave(self):
        """Closes its connection, and stays away until `come_back`."""
        self.is_here.clear()
        while connection := self.connection:
            connection.close()
            await asyncio.sleep(0.02)

    def come_back(self):
        self.is_here.set()

    def flee(self):
        """Connects anew, and leaves the present connection open. The network has not told its node."""
        if self.connection:
            self.stale.append(self.connection)
            self.fled.set()

    def expect_silence(self):
        """From now on nothing may come on a connection that the device has left."""
        self.is_silence_due = True
        for connection in self.stale:
            if self.history:
                self.history.silence(self.name, connection.epoch)

    def end_stale(self):
        for connection in self.stale:
            connection.close()
        self.stale, self.is_silence_due, self.withhold = [], False, False

    def line_arrived(self, connection, line):
        if "sending" not in line:
            return
        identifier = text(line) if "webPush" in line else line["id"].lower()
        self.received[identifier] += 1
        if self.history:
            mailbox = self.mailbox(line.get("channel") or line.get("subscription") or line.get("topic"))
            self.history.arrived(mailbox, identifier, self.name, connection.epoch)
        if "channel" in line:
            self.broadcasts[line["channel"]].append(identifier)
        if connection in self.stale and self.is_silence_due:
            self.stale_lines.append(identifier)
        live = [stale for stale in self.stale if not stale.ended.is_set()]
        if self.withhold and connection not in self.stale and live and "channel" not in line:
            self.withhold = False
            self.asked_again[identifier] += 1
            asyncio.create_task(self.acknowledge_elsewhere(live[0], connection, line["sending"]))
        else:
            connection.acknowledge(line["sending"])
        asyncio.create_task(self.notify())

    async def acknowledge_elsewhere(self, stale, connection, sending):
        """Acknowledges on a stale connection, and connects again. If that has no effect, the notification comes again."""
        try:
            await stale.request("POST", "/1/acknowledgements", json.dumps({"sendings": [sending]}).encode())
        except LOST:
            pass
        self.refused_acknowledgements += 1
        connection.close()

    async def notify(self):
        async with self.arrived:
            self.arrived.notify_all()

    async def wait(self, identifier, seconds):
        """Waits until a notification has come, as often as it was asked for."""
        def has_come():
            return self.received[identifier] > self.asked_again[identifier]

        async with self.arrived:
            await asyncio.wait_for(self.arrived.wait_for(has_come), seconds)

    async def wait_for_broadcast(self, channel, identifier, mark, unanswered, seconds):
        """Waits until a broadcast has come. One that was not answered may be stored later, and then replaces it. `mark` is the
        number of broadcasts that had come before this one was sent. Returns whether another one has replaced it."""
        def is_replaced():
            return not unanswered.isdisjoint(self.broadcasts[channel][mark:])

        def has_come():
            return self.received[identifier] > 0 or is_replaced()

        async with self.arrived:
            await asyncio.wait_for(self.arrived.wait_for(has_come), seconds)
        return self.received[identifier] == 0

    async def subscribe(self, channel):
        await self.ask("PUT", f"/1/apps/{self.app}/channels/{channel}")

    async def ask(self, method, path, body=b""):
        """Asks until the answer is good, and returns its body. The connection may end at any moment."""
        while True:
            try:
                status, answer = await self.connection.request(method, path, body)
                if status in (200, 204):
                    return answer
                if status < 500:
                    raise SystemExit(f"script/cluster: {method} {path} was answered with {status}")
            except (*LOST, AttributeError):
                pass
            await asyncio.sleep(0.1)

    def duplicates(self, identifier):
        """How often a notification came although it had come before."""
        return max(0, self.received[identifier] - self.asked_again[identifier] - 1)

    async def end(self):
        self.reading.cancel()
        for connection in [*self.stale, self.connection]:
            if connection:
                connection.close()


class Provider:
    """Sends single notifications."""

    def __init__(self, authority, key, app):
        self.tls, self.key, self.app = context(authority), key, app
        self.made = float("-inf")

    def token(self):
        """A provider token (ES256), which is used for up to half an hour."""
        if time.monotonic() - self.made > 1800:
            self.made = time.monotonic()
            parts = [{"alg": "ES256", "kid": self.key["keyID"]}, {"iss": self.key["teamID"], "iat": int(time.time())}]
            text = ".".join(encoded(json.dumps(part).encode()) for part in parts)
            with tempfile.NamedTemporaryFile() as file:
                file.write(text.encode())
                file.flush()
                signature = subprocess.run(
                    ["openssl", "dgst", "-sha256", "-sign", self.key["path"], file.name], check=True,
                    capture_output=True).stdout
            self.text = f"{text}.{encoded(joined(signature))}"
        return self.text

    async def connect(self, address):
        return await Connection.open(address, self.tls)

    async def send(self, connection, device_token, identifier, seconds):
        """Returns the status, or None if there is no answer in time."""
        return await self.status(connection.request(
            "POST", f"/3/device/{device_token}", json.dumps({"aps": {"alert": identifier}}).encode(),
            ("authorization", f"bearer {self.token()}"), ("apns-topic", self.app), ("apns-id", identifier)), seconds)

    @staticmethod
    async def status(request, seconds):
        try:
            return (await asyncio.wait_for(request, seconds))[0]
        except (*LOST, asyncio.TimeoutError):
            return None

    async def broadcast(self, address, channel, identifier, seconds):
        """Sends to a channel, over a connection of its own. Returns the status, or None if there is no answer in time."""
        try:
            connection = await asyncio.wait_for(self.connect(address), seconds)
        except (*LOST, asyncio.TimeoutError):
            return None
        body = json.dumps({"aps": {"event": "update", "content-state": {"id": identifier}}}).encode()
        try:
            return await self.status(connection.request(
                "POST", f"/4/broadcasts/apps/{self.app}", body, ("authorization", f"bearer {self.token()}"),
                ("apns-channel-id", channel), ("apns-push-type", "liveactivity"), ("apns-request-id", identifier)),
                seconds)
        finally:
            connection.close()

    async def push(self, address, device_token, identifier, seconds):
        """Sends over a connection of its own. Returns the status, or None if there is no answer in time."""
        try:
            connection = await asyncio.wait_for(self.connect(address), seconds)
        except (*LOST, asyncio.TimeoutError):
            return None
        try:
            return await self.send(connection, device_token, identifier, seconds)
        finally:
            connection.close()


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def joined(signature):
    """A signature as JWT has it: both numbers in 32 bytes each, instead of DER."""
    numbers, at = b"", 2
    for _ in range(2):
        length = signature[at + 1]
        numbers += int.from_bytes(signature[at + 2:at + 2 + length], "big").to_bytes(32, "big")
        at += 2 + length
    return numbers
