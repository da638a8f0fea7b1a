"""Measures the gateway: the CPU time of a forwarded push, against that of the provider library sending it and that of a
validated push; the latency that forwarding adds; whether a grant that floods delays the others; and the memory of handles.
script/bench gateway runs this.

The variables CARILLON and PROVIDER_BENCH name binaries to use in place of the release build, REQUESTS and ROUNDS smaller
numbers, and those of grants.py too."""

import json
import os
import shutil
import statistics
import sys
import tempfile

import grants
from h2load import Load
from processes import run
from service import TOPIC
from testing import Memory, report
from tools import Tools

REQUESTS = int(os.environ.get("REQUESTS", 100_000))
ROUNDS = int(os.environ.get("ROUNDS", 3))
# There are so many device tokens that none comes near its limit of requests.
DEVICES = 1000
IN_FLIGHT = 200


def make_devices(upstream, work):
    """Makes devices that are offline. Returns a file of paths, and one device token."""
    management, path = upstream.manage(), os.path.join(work, "paths.txt")
    with open(os.path.join(upstream.data, "development.json")) as file:
        team = json.load(file)["teamID"]
    with open(path, "w") as file:
        for number in range(DEVICES):
            made = management.ask("POST", "/v1/devices", {
                "team": team, "name": f"offline {number}", "behaviour": {"kind": "offline"}})
            token = made["apps"][0]["token"]
            file.write(f"/3/device/{token}\n")
    return path, token


def credentials(service):
    """The development team's key: its file, its ID and the team's."""
    with open(os.path.join(service.data, "development.json")) as file:
        record = json.load(file)
    return os.path.join(service.data, f"AuthKey_{record['keyID']}.p8"), record["keyID"], record["teamID"]


def connect(gateway, upstream):
    key, key_id, team_id = credentials(upstream)
    with open(os.path.join(upstream.data, "ca.pem")) as authority, open(key) as private:
        gateway.manage().ask("PUT", f"/v1/apps/{TOPIC}/upstreams/development", {
            "url": f"https://127.0.0.1:{upstream.port()}", "authority": authority.read(),
            "credentials": {"kind": "key", "teamID": team_id, "keyID": key_id, "privateKey": private.read()}})


def used(server, load, *arguments):
    """Returns the CPU seconds of the server for 100,000 requests, and the mean time of a request in milliseconds."""
    before = server.cpu()
    seconds = load.run(*arguments)
    return (server.cpu() - before) / load.requests * 100_000, seconds * 1000


def provider(tools, upstream, token):
    """The CPU seconds of the provider library for 100,000 pushes."""
    program = os.environ.get("PROVIDER_BENCH", os.path.join(tools.bin, "ProviderBench"))
    key, key_id, team_id = credentials(upstream)
    answer = json.loads(run(
        program, f"https://127.0.0.1:{upstream.port()}", os.path.join(upstream.data, "ca.pem"), key, key_id, team_id,
        token, TOPIC, str(REQUESTS), str(IN_FLIGHT)))
    if answer["failed"]:
        raise SystemExit(f"bench: {answer['failed']} pushes of the provider library failed")
    return answer["cpu"] / REQUESTS * 100_000


def measure(tools, work, upstream, gateway):
    path, token = make_devices(upstream, work)
    connect(gateway, upstream)
    # One for the CPU, and one with a single request at a time for the latency.
    handles, grant_token = grants.grant_paths(gateway, work, path)
    load, single = Load(REQUESTS, 2, 100), Load(max(REQUESTS // 50, 1), 1, 1)
    rows = {name: [] for name in ("validated", "sent", "forwarded", "granted", "direct", "through")}
    for _ in range(ROUNDS):
        rows["validated"].append(used(upstream.server, load, work, upstream.port(), path, upstream.provider_token(), "0")[0])
        rows["sent"].append(provider(tools, upstream, token))
        rows["forwarded"].append(used(gateway.server, load, work, gateway.port(), path, gateway.provider_token(), "0")[0])
        rows["granted"].append(used(gateway.server, load, work, gateway.port(), handles, grant_token, "0")[0])
        for name, service in (("direct", upstream), ("through", gateway)):
            rows[name].append(used(service.server, single, work, service.port(), path, service.provider_token(), "0")[1])
    report("CPU of a validated push", rows["validated"], "s/100k")
    report("CPU of the provider library sending it", rows["sent"], "s/100k")
    report("CPU of a forwarded push", rows["forwarded"], "s/100k")
    both = statistics.median(rows["validated"]) + statistics.median(rows["sent"])
    met = report("a forwarded push, over both", [each / both for each in rows["forwarded"]], "", 1.5)
    added = [through - direct for through, direct in zip(rows["through"], rows["direct"])]
    met &= report("a push of a grant, over both", [each / both for each in rows["granted"]], "", 1.5)
    met &= report("latency that forwarding adds", added, "ms", 1)
    return met & grants.fairness(gateway, work, token, ROUNDS)


def main():
    work, tools = tempfile.mkdtemp(prefix="carillon-gateway-"), Tools("")
    tools.work, tools.carillon = work, os.environ.get("CARILLON", tools.carillon)
    # One device token gets all pushes of the provider library.
    os.environ["CARILLON_LIMIT_TOKEN_RATE"] = "0"
    os.environ.update(grants.NO_RATES)
    try:
        upstream, gateway = Memory(tools, work, "upstream"), Memory(tools, work, "gateway")
        options = ("--store", "memory", "--journal", "0")
        upstream.start(*options)
        with upstream:
            gateway.start(*options)
            with gateway:
                met = measure(tools, work, upstream, gateway)
        met &= grants.memory(tools, work)
        met &= grants.making(tools, work)
    finally:
        shutil.rmtree(work)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
