"""Measures Web Push against its bounds: CPU time of a message, the memory of subscriptions, what a flood of one endpoint does to
others, and the time to an app of the desktop. script/bench web-push runs this.

The variables SUBSCRIPTIONS, REQUESTS and ROUNDS take smaller numbers, and CARILLON names a binary to use in place of the release
build."""

import asyncio
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

import connector
from frames import Connection, fields
from h2load import Load
from processes import run
from service import TOPIC, Service, encode, raw_signature
from testing import report
from tools import Tools

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Tests/Nodes"))

import device  # noqa: E402

SUBSCRIPTIONS = int(os.environ.get("SUBSCRIPTIONS", 100_000))
REQUESTS = int(os.environ.get("REQUESTS", 100_000))
ROUNDS = int(os.environ.get("ROUNDS", 3))
# An app has so many on one device (WebPushSubscription.maximumCount).
EACH = 500
# The load is one address, and sends more than its share.
NO_RATES = {"CARILLON_LIMIT_WEB_PUSH_ADDRESS_RATE": "0", "CARILLON_LIMIT_WEB_PUSH_ENDPOINT_RATE": "0",
            "CARILLON_LIMIT_TOKEN_RATE": "0", "CARILLON_LIMIT_WEB_PUSH_CONNECT_RATE": "0"}
LISTEN = ("--web-push", "127.0.0.1:0")
# The size of a short message of a chat, encrypted.
BODY = bytes(250)
FLOOD_SECONDS = 4


class Subscriptions:
    """A data folder whose devices have subscriptions, in a file of paths."""

    def __init__(self, tools, work):
        self.service = Service(tools, work, "web-push", max(REQUESTS, SUBSCRIPTIONS // EACH), certificates=True)
        self.paths = os.path.join(work, "endpoints.txt")
        with self.service.serve(env=NO_RATES, options=LISTEN) as server:
            self.bare = settled(server)
            asyncio.run(self.subscribe(server))

    async def subscribe(self, server):
        with open(os.path.join(self.service.folder, "devices.pem")) as file:
            parts = file.read().split("-----BEGIN CERTIFICATE-----")[1:]
        # Each device has its certificate and the intermediate's.
        chains = ["".join("-----BEGIN CERTIFICATE-----" + part for part in parts[at:at + 2]) for at in range(0, len(parts), 2)]
        with open(os.path.join(self.service.folder, "device.key")) as file:
            key = file.read()
        identity, left = os.path.join(self.service.folder, "identity.pem"), SUBSCRIPTIONS
        with open(self.paths, "w") as paths:
            for chain in chains:
                if left <= 0:
                    return
                with open(identity, "w") as file:
                    file.write(chain + key)
                tls = device.context(self.service.authority, identity)
                connection = await device.Connection.open(("127.0.0.1", server.courier), tls)
                answers = []
                for first in range(0, min(EACH, left), 50):
                    answers += await asyncio.gather(*(
                        connection.request("PUT", f"/1/apps/{TOPIC}/subscriptions/{number}", b"{}")
                        for number in range(first, min(first + 50, EACH, left))))
                connection.close()
                for status, body in answers:
                    if status != 200:
                        raise SystemExit(f"bench: a subscription: {status} {body.decode()}")
                    paths.write(urllib.parse.urlsplit(json.loads(body)["endpoint"]).path + "\n")
                left -= len(answers)


def settled(server):
    """The resident bytes when a service has rested and given memory back."""
    time.sleep(12)
    return server.resident()


def vapid(work, origin):
    """The value of Authorization with which an application server signs (RFC 8292)."""
    key = os.path.join(work, "vapid.pem")
    if not os.path.exists(key):
        run("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key)
    der = subprocess.run(["openssl", "ec", "-in", key, "-pubout", "-outform", "DER"], capture_output=True, check=True).stdout
    header = encode(b'{"typ":"JWT","alg":"ES256"}')
    claims = encode(json.dumps({"aud": origin, "exp": int(time.time()) + 3600, "sub": "mailto:a@example.com"}).encode())
    text = f"{header}.{claims}"
    signed = subprocess.run(
        ["openssl", "dgst", "-sha256", "-sign", key], input=text.encode(), capture_output=True, check=True).stdout
    return f"vapid t={text}.{encode(raw_signature(signed))}, k={encode(der[-65:])}"


def headers(work, server, ttl, *more):
    origin = server.web_push.rstrip("/")
    return [f"ttl: {ttl}", "content-encoding: aes128gcm", f"authorization: {vapid(work, origin)}", *more]


def used(server, load, work):
    before = server.cpu()
    work()
    return (server.cpu() - before) / load.requests * 100_000


def cost(made, work):
    """The CPU time of a message that is stored, and that of a push."""
    service, load = made.service, Load(REQUESTS, 4, 100)
    stored, messages = [], []
    with service.serve(event_loops=1, env=NO_RATES, options=LISTEN) as server:
        token, port = service.provider_token(), urllib.parse.urlsplit(server.web_push).port
        fields_of_message = headers(work, server, 86_400)
        for _ in range(ROUNDS):
            stored.append(used(server, load, lambda: load.run(work, server.port, service.paths, token, "2000000000")))
            messages.append(used(server, load, lambda: load.send(work, port, made.paths, BODY, fields_of_message)))
    report("CPU of a push stored, device offline", stored, "s/100k")
    report("CPU of a message stored, device offline", messages, "s/100k")
    return report("pushes for a message's CPU", [ours / push for ours, push in zip(messages, stored)], "", 2)


def memory(made, work):
    """What the subscriptions take in memory: after a start, and when each has had a message that is not kept."""
    load = Load(SUBSCRIPTIONS, 4, 100)
    with made.service.serve(env=NO_RATES, options=LISTEN) as server:
        loaded = settled(server)
        port = urllib.parse.urlsplit(server.web_push).port
        load.send(work, port, made.paths, BODY, headers(work, server, 0))
        after = settled(server)
    met = report("memory of a subscription", [(loaded - made.bare) / SUBSCRIPTIONS], "B", 200)
    report("and after a message to each", [(after - made.bare) / SUBSCRIPTIONS], "B")
    return met


def quiet(connection, block, seconds):
    """Sends pushes one after another. Returns the median time of one in microseconds."""
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.perf_counter()
        connection.send(block, b'{"aps":{"alert":"Hello"}}')
        times.append((time.perf_counter() - began) * 1e6)
    return statistics.median(times)


def flood(made, work):
    """The time of a push while somebody without a key sends to one endpoint as fast as they can, beyond its rate."""
    service, ratios, rates = made.service, [], []
    with open(service.paths) as file:
        path = file.readline().strip()
    with open(made.paths) as file:
        endpoint = file.readline().strip()
    with service.serve(env={"CARILLON_LIMIT_TOKEN_RATE": "0"}, options=LISTEN) as server:
        block = fields(
            "POST", path, ("apns-topic", TOPIC), ("apns-expiration", "0"),
            ("authorization", f"bearer {service.provider_token()}"))
        connection = Connection(server.port, service.authority)
        body = os.path.join(work, "flood")
        with open(body, "wb") as file:
            file.write(BODY)
        quiet(connection, block, 1)
        for _ in range(ROUNDS):
            alone = quiet(connection, block, FLOOD_SECONDS)
            flooder = subprocess.Popen(
                ["h2load", "-D", str(FLOOD_SECONDS + 2), "-c", "4", "-m", "20", "-t", "1", "-d", body, "-H", "ttl: 60",
                 "-H", "content-encoding: aes128gcm", server.web_push.rstrip("/") + endpoint],
                stdout=subprocess.PIPE, text=True)
            time.sleep(1)
            ratios.append(quiet(connection, block, FLOOD_SECONDS) / alone)
            output = flooder.communicate()[0]
            rates.append(float(output.split(" req/s")[0].split()[-1]))
    report("requests a second of a flooder", rates, "/s")
    return report("time of a push meanwhile, of that alone", ratios, "", 2)


def main():
    work = tempfile.mkdtemp(prefix="carillon-web-push-")
    os.chmod(work, 0o755)
    tools = Tools(work)
    tools.carillon = os.environ.get("CARILLON", tools.carillon)
    try:
        made = Subscriptions(tools, work)
        met = [measure(made, work) for measure in (memory, cost, flood)] + [connector.measure(tools.carillon, work)]
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
