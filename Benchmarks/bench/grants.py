"""Measures grants: what handles take of the memory, and whether a grant that floods delays the others. script/bench gateway
uses this.

The variables GRANTS, HANDLES, MANY and FLOOD name smaller numbers."""

import json
import os
import secrets
import subprocess
import time

from frames import DATA, END_STREAM, HEADERS, Connection, fields
from h2load import BODY
from service import TOPIC, provider_token
from testing import Memory, report

GRANTS = int(os.environ.get("GRANTS", 1000))
HANDLES = int(os.environ.get("HANDLES", 1_000_000))
# How many grants there are when the time of making another one is measured: the largest number, less those that are made then.
MORE = 100
MANY = int(os.environ.get("MANY", 100_000)) - MORE
# The rate of the grant that floods. It sends ten times as much.
FLOOD = int(os.environ.get("FLOOD", 200))
# The grants that do not flood, the rate at which each sends, and for how many seconds.
OTHERS, OTHERS_RATE, SECONDS = 8, 20, 10
BODY_FILE = "grant-body.json"
# A connection without a provider token has one request at a time.
CONNECTIONS = 64
# Without these limits, one machine may play all phones.
NO_RATES = {"CARILLON_LIMIT_GATEWAY_ADDRESS_RATE": "0", "CARILLON_LIMIT_GATEWAY_GRANT_RATE": "0"}


class Instance:
    """A grant, and one handle of it."""

    def __init__(self, gateway, work, name, device_token, **limits):
        made = gateway.manage().ask("POST", "/v1/grants", {"bundleID": TOPIC, "name": name, **limits})
        key = os.path.join(work, f"{made['grant']}.p8")
        with open(key, "w") as file:
            file.write(made["privateKey"])
        self.work, self.name, self.port = work, name, gateway.port()
        self.token = provider_token(key, made["keyID"], made["teamID"])
        context = os.path.join(gateway.data, "ca.pem")
        self.handle = json.loads(subprocess.run(
            ["curl", "--silent", "--http2", "--cacert", context, "-H", f"authorization: bearer {made['clientKey']}", "-d",
             handle_body(device_token), f"https://127.0.0.1:{self.port}/1/handles"],
            stdout=subprocess.PIPE, check=True).stdout)["handle"]

    def begin(self, rate):
        """Sends at a rate, as a process of its own."""
        self.log = os.path.join(self.work, self.name + ".log")
        return subprocess.Popen(
            ["h2load", "-c", "1", "-t", "1", "-m", "100", "--rps", str(rate), "-D", str(SECONDS), "-d",
             os.path.join(self.work, BODY_FILE), "--log-file", self.log, "-H", f"authorization: bearer {self.token}", "-H", f"apns-topic: {TOPIC}", "-H",
             "apns-push-type: alert", "-H", "apns-expiration: 0", f"https://127.0.0.1:{self.port}/3/device/{self.handle}"],
            stdout=subprocess.DEVNULL)

    def answers(self):
        """The status and the milliseconds of each answer."""
        with open(self.log) as file:
            rows = [line.split() for line in file]
        return [(int(row[1]), int(row[2]) / 1000) for row in rows]


def handle_body(device_token):
    return json.dumps({"bundleID": TOPIC, "environment": "development", "token": device_token})


def answer(connection):
    """The frames of the answer to the newest request."""
    for kind, flags, payload in connection.frames():
        yield kind, payload
        if kind in (HEADERS, DATA) and flags & END_STREAM:
            return


def grant_paths(gateway, work, device_paths):
    """Makes a grant with a handle of each device token. Returns a file of paths, and a provider token of the grant."""
    made = gateway.manage().ask("POST", "/v1/grants", {"bundleID": TOPIC, "name": "load"})
    key, path = os.path.join(work, "load.p8"), os.path.join(work, "handles.txt")
    with open(key, "w") as file:
        file.write(made["privateKey"])
    connection = Connection(gateway.port())
    block = fields("POST", "/1/handles", ("authorization", f"bearer {made['clientKey']}"))
    with open(device_paths) as devices, open(path, "w") as file:
        for line in devices:
            connection.begin(block, handle_body(line.strip().rsplit("/", 1)[1]).encode())
            body = b"".join(payload for kind, payload in answer(connection) if kind == DATA)
            file.write(f"/3/device/{json.loads(body)['handle']}\n")
    connection.close()
    return path, provider_token(key, made["keyID"], made["teamID"])


def percentile(samples, share):
    return sorted(samples)[min(len(samples) - 1, int(len(samples) * share))]


def fairness(gateway, work, device_token, rounds):
    """Compares the others' latency with and without a grant that floods at ten times its rate."""
    with open(os.path.join(work, BODY_FILE), "w") as file:
        file.write(BODY)
    flood = Instance(gateway, work, "flood", device_token, rate=FLOOD)
    others = [Instance(gateway, work, f"other {number}", device_token) for number in range(OTHERS)]

    def latency(floods):
        running = [each.begin(OTHERS_RATE) for each in others] + ([flood.begin(FLOOD * 10)] if floods else [])
        for process in running:
            process.wait()
        answers = [answer for each in others for answer in each.answers()]
        wrong = [status for status, _ in answers if status != 200]
        if wrong or not answers:
            raise SystemExit(f"bench: {len(wrong)} of {len(answers)} requests of grants below their limit were refused")
        return percentile([time for _, time in answers], 0.99)

    alone, flooded, ratios = [], [], []
    for _ in range(rounds):
        alone.append(latency(False))
        flooded.append(latency(True))
        ratios.append(flooded[-1] / alone[-1])
    statuses = [status for status, _ in flood.answers()]
    report("p99 of grants below their limit", alone, "ms")
    report("p99 while another floods", flooded, "ms")
    report("the flooding grant's requests beyond its rate", [statuses.count(429) / max(len(statuses), 1)], "")
    return report("p99 with the flood, over without", ratios, "", 2)


def memory(tools, work):
    """The memory of grants and their handles, with the store in memory."""
    gateway = Memory(tools, work, "handles")
    os.environ.update(NO_RATES)
    gateway.start("--store", "memory", "--journal", "0")
    with gateway:
        base, management = gateway.server.resident(), gateway.manage()
        keys = [
            management.ask("POST", "/v1/grants", {
                "bundleID": TOPIC, "name": f"instance {number}", "maximumHandles": HANDLES})["clientKey"]
            for number in range(GRANTS)]
        report(f"{GRANTS:,} grants", [(gateway.server.resident() - base) / 1e6], "MB")
        make_handles(gateway, keys)
        grown = (gateway.server.resident() - base) / 1e6
        return report(f"{GRANTS:,} grants and {HANDLES:,} handles in memory", [grown], "MB", 200)


def making(tools, work):
    """The time of making a grant when there are almost as many as there may be, with the store on disk."""
    gateway = Memory(tools, work, "grants")
    gateway.start("--journal", "0")
    with gateway:
        management = gateway.manage()

        def make(number):
            began = time.monotonic()
            management.ask("POST", "/v1/grants", {"bundleID": TOPIC, "name": f"instance {number}"})
            return (time.monotonic() - began) * 1000

        first = [make(number) for number in range(MORE)]
        for number in range(MORE, MANY):
            make(number)
        times = [make(number) for number in range(MANY, MANY + MORE)]
        report("making one of the first grants", [percentile(first, 0.5)], "ms")
        return report(f"making a grant beside {MANY:,}, at the median", [percentile(times, 0.5)], "ms", 10)


def make_handles(gateway, keys):
    """Makes handles, each for another device token, in turns over some connections."""
    blocks = [fields("POST", "/1/handles", ("authorization", f"bearer {key}")) for key in keys]
    connections = []
    for number in range(CONNECTIONS):
        connections.append(Connection(gateway.port()))
        # The service closes a connection on which SETTINGS are not acknowledged soon.
        connections[-1].send(blocks[number % len(blocks)], handle_body(secrets.token_hex(32)).encode())
    for first in range(CONNECTIONS, HANDLES, CONNECTIONS):
        numbers = range(first, min(first + CONNECTIONS, HANDLES))
        busy = list(zip(connections, numbers))
        for connection, number in busy:
            connection.begin(blocks[number % len(blocks)], handle_body(secrets.token_hex(32)).encode())
        for connection, _ in busy:
            connection.finish()
    for connection in connections:
        connection.close()
