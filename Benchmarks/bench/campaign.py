"""Measures the provider server with many installations, and a campaign to all of them. script/bench campaign runs this.

The other side of the comparison is a loop in Go that keeps nothing, as gorush does: the same number of requests to the
same Carillon, with the same number under way.

usage: campaign.py [installations, 1,000,000 by default]"""

import json
import os
import shutil
import sys
import tempfile
import threading
import time

from processes import Server, run
from service import TOPIC, Service
from testing import report
from tools import ROOT, Tools

IN_FLIGHT = 1000

# An audience for each kind of condition, and several conditions together. Each reads every installation of the app.
AUDIENCES = {
    "tags": {"tags": "(news && sv) && !muted"},
    "versions": {"where": "appVersion >= 2.5"},
    "languages": {"where": "not language = sv"},
    "a time zone": {"where": "timeZone = Asia/Tokyo"},
    "the last registration": {"where": "lastSeen > P30D and registered > 2020-01-01"},
    "a service's device token": {"where": "service = voip"},
    "a value of the backend": {"where": "points > 5"},
    "a value of the app": {"where": "level >= 3"},
    "five properties": {"where": "appVersion >= 2.1 and not (language = pt or points > 5) and tag = news and timeZone != Asia/Tokyo"},
}


class ProviderServer:
    """The provider server on a folder, and the command that administers it."""

    def __init__(self, tools, work):
        self.tools, self.data = tools, os.path.join(work, "provider")
        self.out = os.path.join(work, "provider.ready")

    def start(self):
        """Starts it. Returns the seconds until its ready line."""
        open(self.out, "w").close()
        command = [self.tools.carillon, "provider", "serve", "--listen", "127.0.0.1:0", "--json", "--data", self.data]
        began = time.monotonic()
        self.server = Server("provider", command, 0, self.out)
        with open(self.out) as output:
            while self.server.process.poll() is None:
                if output.readline().startswith('{"event":"ready"'):
                    return time.monotonic() - began
                time.sleep(0.002)
        raise SystemExit(f"bench: the provider server does not start; see {self.out}")

    def command(self, *arguments, text=None):
        return json.loads(run(
            self.tools.carillon, "provider", *arguments, "--json", "--data", self.data, input=text).splitlines()[-1])

    def send(self, audience, **more):
        message = {"bundleID": TOPIC, "audience": audience, "payload": {"aps": {"alert": "Hello"}}, "expiration": 0}
        return self.command("message", "send", "-", text=json.dumps(message | more))


class Peak(threading.Thread):
    """The most resident memory of a process while this runs, in megabytes."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.most, self.ends = server, 0, threading.Event()
        self.start()

    def run(self):
        while not self.ends.wait(0.05):
            self.most = max(self.most, self.server.resident() / 1e6)


def make_app(provider, service, server):
    with open(os.path.join(service.data, "development.json")) as file:
        record = json.load(file)
    provider.command(
        "app", "put", TOPIC, "--team-id", record["teamID"], "--key-id", record["keyID"],
        "--key-file", os.path.join(service.data, f"AuthKey_{record['keyID']}.p8"),
        "--url", f"https://127.0.0.1:{server.port}", "--authority", service.authority)


def write_installations(service, path):
    """Writes a line for each registered device. Every second one has the tag news, every third sv, every tenth muted. The
    other properties have a few values each."""
    zones, languages = ["Europe/Stockholm", "Asia/Tokyo", "America/New_York"], [["sv-SE", "en"], ["en"], ["pt-BR"]]
    with open(service.paths) as source, open(path, "w") as file:
        for number, line in enumerate(source):
            token = line.strip().rpartition("/")[2]
            tags = [tag for tag, part in (("news", 2), ("sv", 3), ("muted", 10)) if number % part == 0]
            file.write(json.dumps({
                "id": f"i{number}", "deviceToken": token, "tags": tags, "appTags": ["beta"] if number % 7 == 0 else [],
                "appVersion": f"2.{number % 30}", "timeZone": zones[number % 3], "languages": languages[number % 3],
                "registeredAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - (number % 60) * 86_400)),
                "values": {"points": number % 11}, "appValues": {"level": number % 5},
                "tokens": {"voip": token} if number % 4 == 0 else {}}) + "\n")


def audience(provider, conditions):
    """Returns the seconds of a dry run, in which every installation is read, and how many it found."""
    began = time.monotonic()
    found = provider.send(conditions, dryRun=True)["recipients"]
    return time.monotonic() - began, found


def campaign(provider, count):
    began = time.monotonic()
    message = provider.send({"everybody": True})["id"]
    while (shown := provider.command("message", "show", message))["state"] != "finished":
        time.sleep(0.2)
    if shown["accepted"] != count:
        raise SystemExit(f"bench: {shown}")
    return count / (time.monotonic() - began)


def go_loop(service, server, work, count):
    """The same number of requests by a loop that keeps nothing; None without Go."""
    if shutil.which("go") is None:
        return None
    program = os.path.join(work, "go-provider")
    env = {**os.environ, "GO111MODULE": "off", "GOCACHE": f"{work}/go-cache"}
    run("go", "build", "-o", program, os.path.join(ROOT, "Benchmarks", "clients", "provider.go"), env=env)
    with open(service.paths) as file:
        token = file.readline().strip().rpartition("/")[2]
    began = time.monotonic()
    run(program, f"https://127.0.0.1:{server.port}", service.authority, service.provider_token(), token, TOPIC,
        str(count), str(IN_FLIGHT))
    return count / (time.monotonic() - began)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    work = tempfile.mkdtemp(prefix="bench-")
    met = True
    try:
        tools = Tools(work)
        tools.carillon = os.environ.get("CARILLON", tools.carillon)
        service, provider = Service(tools, work, "service", count), ProviderServer(tools, work)
        lines = os.path.join(work, "installations.ndjson")
        write_installations(service, lines)
        with service.serve(env={"CARILLON_LIMIT_TOKEN_RATE": "0"}) as server:
            provider.start()
            make_app(provider, service, server)
            began = time.monotonic()
            provider.command("installation", "import", lines, "--bundle-id", TOPIC)
            met &= report("installations registered by import", [count / (time.monotonic() - began)], "/s", 5000, True)
            provider.server.stop()
            met &= report(f"ready with {count} installations", [provider.start()], "s", 2)
            for name, conditions in AUDIENCES.items():
                seconds, found = audience(provider, conditions)
                if not 0 < found < count:
                    raise SystemExit(f"bench: {found} of {count} installations meet {conditions}")
                met &= report(f"finding an audience by {name}", [seconds], "s", 3)
            peak = Peak(provider.server)
            met &= report("a campaign to all", [campaign(provider, count)], "/s", 10_000, True)
            peak.ends.set()
            met &= report("its most memory", [peak.most], "MB", 300)
            provider.server.stop()
            rate = go_loop(service, server, work, count)
            if rate:
                report("a loop in Go that keeps nothing", [rate], "/s")
    finally:
        shutil.rmtree(work)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
