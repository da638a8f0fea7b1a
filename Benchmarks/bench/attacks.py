"""Measures what a flood costs others: the median time of a quiet client's request during an attack, divided by that
without one, and the longest time of one of its requests. script/measure attacks runs this.

The quiet client has one connection and sends one request after the other; the attacker, a process of its own, sends as
fast as it can and connects again whenever it is cut off. Rounds with and without an attack alternate. Some attackers flood
the management API, with its key or without.
"""

import dataclasses
import http.client
import multiprocessing
import shutil
import statistics
import sys
import tempfile
import time

from frames import (
    DATA, END_HEADERS, HEADERS, PING, RESET, SETTINGS, Connection, fields, frame)
from service import TOPIC, Service
from tools import Tools

ROUNDS = 5
SECONDS = 1
PRIORITY, CONTINUATION = 2, 9
# :method POST, :scheme https and :path / of the static table.
REQUEST = b"\x83\x87\x84"
OPEN = frame(HEADERS, END_HEADERS, 1, REQUEST)
# A field of 4,000 bytes that is added to HPACK's table, followed by thousands of references to it of one byte each.
BOMB = REQUEST + b"\x40\x01x\x7f\xa1\x1e" + b"a" * 4000 + b"\xbe" * 12_000
CANCEL = b"\x00\x00\x00\x08"


def resets(wave):
    streams = range(wave * 100 + 1, wave * 100 + 101, 2)
    return b"".join(frame(HEADERS, END_HEADERS, s, REQUEST) + frame(RESET, 0, s, CANCEL) for s in streams)


@dataclasses.dataclass
class ManagementFlood:
    """A request to the management API, again and again, on some connections at once."""

    method: str
    path: str
    body: bytes = b""
    has_key: bool = False
    connections: int = 1

    def run(self, address, key, ending, connects, sent):
        headers = {"Authorization": "Bearer " + key} if self.has_key else {}
        if self.body:
            headers["Content-Type"] = "application/json"
        places = [http.client.HTTPConnection(address) for _ in range(self.connections)]
        while not ending.is_set():
            for place in places:
                connects.value += place.sock is None
                place.request(self.method, self.path, self.body or None, headers)
                sent.value += len(self.path) + len(self.body)
            for place in places:
                # It connects again if the service has ended the connection.
                place.getresponse().read()


# Nested as deeply as 1 KB allows, which is deeper than the API reads.
NESTED = b"[" * 500 + b"]" * 500
# Nearly as large as the API reads, with a mistake at its end, so that it is read to the end and leaves nothing.
FIXTURE = b'{"teams":[{"name":"Shop","apps":["com.example.shop"],"devices":[' + b",".join(
    b'{"name":"phone %d"}' % number for number in range(170_000)) + b'],"mistake":1}]}'

# For each attack: the bytes to send once, and the bytes to send repeatedly.
FLOODS = {
    "rapid reset": (b"", resets),
    "CONTINUATION": (frame(HEADERS, 0, 1, REQUEST), lambda _: frame(CONTINUATION, 0, 1) * 50),
    "SETTINGS": (b"", lambda _: frame(SETTINGS, 0, 0) * 50),
    "PING": (b"", lambda _: frame(PING, 0, 0, b"\x01" * 8) * 50),
    "PRIORITY": (b"", lambda _: frame(PRIORITY, 0, 1, b"\x00\x00\x00\x03\x10") * 200),
    "HPACK bomb": (b"", lambda wave: frame(HEADERS, END_HEADERS, wave * 2 + 1, BOMB)),
    "one-byte frames": (OPEN, lambda _: frame(DATA, 0, 1, b"{") * 200),
    "empty frames": (OPEN, lambda _: frame(DATA, 0, 1) * 200),
    "handshakes": (None, None),
    "GET /metrics": ManagementFlood("GET", "/metrics"),
    "long paths": ManagementFlood("GET", "/" + "a" * 4000),
    "nested documents": ManagementFlood("POST", "/v1/fixtures", NESTED, has_key=True, connections=4),
    "16 fixtures": ManagementFlood("POST", "/v1/fixtures", FIXTURE, has_key=True, connections=16),
}


def attack(name, port, management, ending, connects, sent):
    flood = FLOODS[name]
    if isinstance(flood, ManagementFlood):
        while not ending.is_set():
            try:
                flood.run(*management, ending, connects, sent)
            except (OSError, http.client.HTTPException):
                # The service ended a connection, as it may.
                pass
        return
    opening, wave = flood
    while not ending.is_set():
        try:
            connection = Connection(port)
            connects.value += 1
            # The service no longer reads from a connection that it has ended, and an attacker does not wait until it is closed.
            connection.socket.settimeout(0.05)
            if wave is not None:
                connection.socket.sendall(opening)
                number = 0
                while not ending.is_set():
                    bytes_of_wave = wave(number)
                    connection.socket.sendall(bytes_of_wave)
                    sent.value += len(bytes_of_wave)
                    number += 1
            connection.close()
        except OSError:
            # The service ended the connection, as it should.
            pass


def quiet(connection, block):
    """Sends requests for `SECONDS`. Returns the time of each in microseconds."""
    times, end = [], time.monotonic() + SECONDS
    while time.monotonic() < end:
        began = time.perf_counter()
        connection.send(block, b'{"aps":{"alert":"Hello"}}')
        times.append((time.perf_counter() - began) * 1e6)
    return times


def measure(service, server, name):
    with open(service.paths) as file:
        path = file.readline().strip()
    block = fields(
        "POST", path, ("apns-topic", TOPIC), ("apns-expiration", "0"),
        ("authorization", f"bearer {service.provider_token()}"))
    connection = Connection(server.port, service.authority)
    quiet(connection, block)
    alone, meanwhile, longest = [], [], 0
    connects, sent = multiprocessing.Value("q", 0), multiprocessing.Value("q", 0)
    for _ in range(ROUNDS):
        alone.append(statistics.median(quiet(connection, block)))
        ending = multiprocessing.Event()
        attacker = multiprocessing.Process(target=attack, args=(name, server.port, server.management, ending, connects, sent))
        attacker.start()
        time.sleep(0.2)
        times = quiet(connection, block)
        meanwhile.append(statistics.median(times))
        longest = max(longest, *times)
        ending.set()
        attacker.join(5)
        if attacker.is_alive():
            attacker.kill()
    connection.close()
    return alone, meanwhile, longest, connects.value, sent.value


def main():
    work = tempfile.mkdtemp(prefix="carillon-attacks-")
    try:
        service = Service(Tools(work), work, "attacks", 1)
        print(f"{'attack':17} {'alone':>9} {'meanwhile':>10} {'ratio':>6} {'worst':>6} {'longest':>9}   memory   attacker")
        for name in FLOODS:
            with service.serve(env={"CARILLON_LIMIT_TOKEN_RATE": "0"}) as server:
                alone, meanwhile, longest, connects, sent = measure(service, server, name)
                ratios = [during / before for before, during in zip(alone, meanwhile)]
                print(
                    f"{name:17} {statistics.median(alone):6.0f} µs {statistics.median(meanwhile):7.0f} µs "
                    f"{statistics.median(ratios):6.2f} {max(ratios):6.2f} {longest / 1000:6.1f} ms   {server.resident() / 2**20:.0f} MiB   "
                    f"{connects} connects, {sent / 1e6:.1f} MB",
                    flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
