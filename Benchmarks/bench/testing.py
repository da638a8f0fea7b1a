"""Measures what a test suite waits for: a service in memory that starts, a team for each test, fixtures, rehearsals, `wait`, device
tokens at first sight, virtual devices, lists of devices, the time from `pip install` to the first assertion, and 200 tests at the same
time in each language. script/bench testing runs this.

The variable CARILLON names a binary to use in place of the release build. Arguments name the parts to run: install, start, idle,
teams, any, requests, suites, lists; all without them."""

import http.client
import json
import os
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from frames import Connection, fields
from h2load import BODY, Load
from processes import Server, run
from service import TOPIC, Service, management_key
from tools import ROOT, Tools

ROUNDS = 11
REQUESTS = 200_000
WAITS = 200
# There are so many device tokens that none comes near its limit of requests.
OFFLINE_DEVICES = 1000
LISTED_DEVICES = 50_000
TEAMS = 200
RUNS = 10
# Five seconds after the last work a service gives memory back to the system.
IDLE_SECONDS = 6
# Twice as many as are kept, so that half of the requests also forget a device.
NEW_TOKENS = 100_000
# What a test of a user is, with the wheel and nothing else.
FIRST_TEST = """
def test_the_first_assertion(apns):
    apns.carillon.management.ask("POST", "/v1/notifications", {
        "token": apns.device().token, "topic": apns.bundle_id, "payload": {"aps": {"alert": "Hello"}}})
    (request,) = apns.wait(outcome="delivered")
    assert request["payload"]["aps"]["alert"] == "Hello"
"""


class Memory(Service):
    """A service in memory. Its folder has only the key of its development team."""

    def __init__(self, tools, work, name):
        self.tools, self.data = tools, os.path.join(work, name)
        self.out = os.path.join(work, name + ".ready")

    def start(self, *options, under=(), env=None):
        """Starts the service. Returns the milliseconds until its ready line."""
        open(self.out, "w").close()
        command = [
            *under, self.tools.carillon, "serve", "--data", self.data, "--ports", "ephemeral", "--json", *options]
        began = time.monotonic()
        self.server = Server("carillon", command, 0, self.out, env)
        with open(self.out) as output:
            while self.server.process.poll() is None:
                line = output.readline()
                if line.startswith("{") and line.endswith("\n"):
                    passed = time.monotonic() - began
                    self.ready = json.loads(line)
                    return passed * 1000
                time.sleep(0.001)
        raise SystemExit(f"bench: carillon does not start; see {self.out}")

    def port(self):
        return int(self.ready["development"]["provider"].rpartition(":")[2])

    def manage(self):
        return Management(self.ready)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.stop()


class Management:
    """The management API over one connection."""

    def __init__(self, ready):
        management = ready["management"]
        self.headers = {"Authorization": "Bearer " + management_key(management), "Content-Type": "application/json"}
        self.connection = http.client.HTTPConnection(management["url"].removeprefix("http://"))

    def ask(self, method, path, body=None):
        self.connection.request(method, path, json.dumps(body) if body is not None else None, self.headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise SystemExit(f"bench: {method} {path}: {answer.status} {text.decode()}")
        return json.loads(text)

    def timed(self, *request):
        began = time.monotonic()
        answer = self.ask(*request)
        return (time.monotonic() - began) * 1000, answer


def report(work, samples, unit, limit=None, at_least=False):
    """Prints a row. Returns whether the limit is met."""
    median = statistics.median(samples)
    met = limit is None or (median >= limit if at_least else median <= limit)
    bound = "" if limit is None else f"  {'at least' if at_least else 'at most'} {limit:g}: {'yes' if met else 'NO'}"
    print(f"{work:<58} {median:>10.3g} {unit:<4} ({min(samples):.3g}–{max(samples):.3g}){bound}", flush=True)
    return met


def start(service):
    samples = []
    for _ in range(ROUNDS):
        samples.append(service.start("--store", "memory"))
        service.server.stop()
    return report("ready, with the store in memory", samples, "ms", 100)


def idle(tools, work):
    """Measures the resident memory of a service that was started for tests and has done nothing yet."""
    samples = []
    for number in range(5):
        service = Memory(tools, work, f"idle{number}")
        service.start("--store", "memory", "--clock", "virtual")
        with service:
            settled(service)
            samples.append(service.server.resident() / 1e6)
    return report("an idle service", samples, "MB", 30)


def settled(service):
    """Waits until the service is idle: its threads have ended what was begun, and the time has come at which it gives memory back."""
    time.sleep(IDLE_SECONDS)
    before, now = -1.0, service.server.cpu()
    while now != before:
        time.sleep(0.5)
        before, now = now, service.server.cpu()


def teams(management_of):
    """Measures what a package does for each test: a new connection makes a team with an app and a key."""
    samples = []
    for number in range(TEAMS):
        document = {"teams": [{"name": "Test", "apps": [f"com.example.test-{number}"], "keys": [{}]}]}
        began = time.monotonic()
        made = management_of().ask("POST", "/v1/fixtures", document)
        samples.append((time.monotonic() - began) * 1000)
        if number % 2:
            management_of().ask("DELETE", "/v1/teams/" + made["teams"][0]["teamID"])
    return report("a team for a test", samples, "ms", 10)


def at_first_sight(tools, work):
    """Measures how many requests a second have a device token that nobody has created."""
    samples, load = [], Load(NEW_TOKENS, 8, 100)
    for number in range(3):
        service = Memory(tools, work, f"any{number}")
        service.start("--store", "memory", "--accept", "any")
        with service:
            path = os.path.join(work, f"new{number}.txt")
            with open(path, "w") as file:
                file.writelines(f"/3/device/{secrets.token_hex(32)}\n" for _ in range(NEW_TOKENS))
            token, began = service.provider_token(), time.monotonic()
            load.run(work, service.port(), path, token, "0")
            samples.append(load.requests / (time.monotonic() - began))
            count = len(service.manage().ask("GET", "/v1/requests?limit=1000"))
            if count != 1000:
                raise SystemExit(f"bench: the journal has {count} requests")
    return report("new device tokens with --accept any", samples, "/s", 20_000, at_least=True)


def installed(tools, work):
    """Measures the time from `pip install` in an empty environment until the first assertion has passed."""
    pack = os.path.join(ROOT, "script", "testing-packages")
    wheel = run(pack, "--only", "wheel", "--out", work, tools.carillon).strip()
    print(f"{'the wheel':<58} {os.path.getsize(wheel) / 1e6:>10.3g} MB", flush=True)
    samples = []
    for number in range(3):
        folder = os.path.join(work, f"environment{number}")
        run(sys.executable, "-m", "venv", folder)
        with open(os.path.join(folder, "test_first.py"), "w") as file:
            file.write(FIRST_TEST)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CARILLON")}
        began = time.monotonic()
        run(os.path.join(folder, "bin", "pip"), "install", "--quiet", "pytest", wheel, env=environment)
        run(os.path.join(folder, "bin", "pytest"), "test_first.py", cwd=folder, env=environment)
        samples.append(time.monotonic() - began)
        shutil.rmtree(folder)
    return report("from pip install to the first assertion", samples, "s", 10)


def team(devices):
    return {"teams": [{"teamID": "ABCDE12345", "apps": ["com.example.shop"],
                       "devices": [{"name": f"phone {number}"} for number in range(devices)]}]}


def fixture(management):
    samples = []
    for _ in range(ROUNDS):
        samples.append(management.timed("POST", "/v1/fixtures", team(100))[0])
        management.ask("DELETE", "/v1/teams/ABCDE12345")
    return report("fixture with 100 devices", samples, "ms", 100)


def rehearsed(service, management, work):
    """Measures how many requests a second a rehearsal matches, with and without a fault."""
    with open(os.path.join(service.data, "development.json")) as file:
        development = json.load(file)["teamID"]
    path = os.path.join(work, "offline.txt")
    with open(path, "w") as file:
        for number in range(OFFLINE_DEVICES):
            made = management.ask("POST", "/v1/devices", {
                "team": development, "name": f"offline {number}", "behaviour": {"kind": "offline"}})
            file.write(f"/3/device/{made['apps'][0]['token']}\n")
    token, load, met = service.provider_token(), Load(REQUESTS, 8, 100), True
    for name, rule in (("which never fires", {"when": {"after": 1_000_000_000}}), ("which loses each", {})):
        rule |= {"match": {"team": development}, "fault": {"lose": True}}
        begun = management.ask("POST", "/v1/rehearsals", {"rules": [rule]})["rehearsal"]
        samples = []
        for _ in range(3):
            began = time.monotonic()
            load.run(work, service.port(), path, token, "0")
            samples.append(load.requests / (time.monotonic() - began))
        ended = management.ask("DELETE", f"/v1/rehearsals/{begun}")
        if ended["rules"][0]["matched"] != 3 * load.requests:
            raise SystemExit(f"bench: the rule matched {ended['rules'][0]['matched']} requests")
        met &= report(f"pushes matched by a rehearsal {name}", samples, "/s", 20_000, at_least=True)
    return met


def waited(service, management, work):
    """Measures the time from the answer of the last push until `wait` has answered."""
    with open(os.path.join(work, "offline.txt")) as file:
        path = file.readline().strip()
    block = fields(
        "POST", path, ("authorization", "bearer " + service.provider_token()), ("apns-topic", TOPIC),
        ("apns-push-type", "alert"), ("apns-expiration", "0"))
    connection, other, samples = Connection(service.port()), service.manage(), []
    for _ in range(WAITS):
        management.ask("DELETE", "/v1/requests")
        waiting = threading.Thread(target=lambda: other.ask("POST", "/v1/requests/wait", {"timeout": "PT10S"}))
        waiting.start()
        time.sleep(0.005)
        connection.send(block, BODY.encode())
        began = time.monotonic()
        waiting.join()
        samples.append((time.monotonic() - began) * 1000)
    connection.close()
    return report("`wait` answers after the last push's answer", samples, "ms", 10)


def devices(service, management):
    """Measures the memory of 1,000 virtual devices that are online."""
    management.ask("POST", "/v1/fixtures", team(10))
    management.ask("DELETE", "/v1/teams/ABCDE12345")
    before = service.server.resident()
    management.ask("POST", "/v1/fixtures", team(1000))
    return report("1,000 virtual devices", [(service.server.resident() - before) / 1e6], "MB", 5)


def pages(management, what, count):
    """Measures the time for pages of 100 devices at several places of the list."""
    samples = []
    for number in range(ROUNDS):
        after = f"{number * 0xffff_ffff_ffff_ffff // ROUNDS:016x}"
        passed, page = management.timed("GET", f"/v1/devices?limit=100&after={after}")
        if len(page) != 100 and number < ROUNDS - 1:
            raise SystemExit(f"bench: a page of {len(page)} devices")
        samples.append(passed)
    return report(f"100 of {count:,} devices, {what}", samples, "ms")


def main():
    work, tools = tempfile.mkdtemp(prefix="carillon-testing-"), Tools("")
    tools.work, tools.carillon = work, os.path.abspath(os.environ.get("CARILLON", tools.carillon))
    parts = {
        "install": installed, "start": lambda tools, work: start(Memory(tools, work, "start")), "idle": idle,
        "teams": team_for_each_test, "any": at_first_sight, "requests": requests, "suites": suites, "lists": lists}
    wanted = sys.argv[1:] or list(parts)
    if unknown := [name for name in wanted if name not in parts]:
        raise SystemExit(f"bench: there is no part {unknown[0]}; it takes {', '.join(parts)}")
    try:
        # All parts run, also if one does not meet its bound.
        met = [parts[name](tools, work) for name in wanted]
    finally:
        shutil.rmtree(work)
    return 0 if all(met) else 1


def team_for_each_test(tools, work):
    service = Memory(tools, work, "teams")
    service.start("--store", "memory", "--clock", "virtual")
    with service:
        met = teams(service.manage)
    return all([met, teams_that_went(tools, work)])


def teams_that_went(tools, work):
    """Measures the resident memory of a service when the teams of a suite have come, done something and gone."""
    samples = []
    for number in range(3):
        service = Memory(tools, work, f"gone{number}")
        service.start("--store", "memory", "--clock", "virtual")
        with service:
            management = service.manage()
            for test in range(TEAMS):
                made = management.ask("POST", "/v1/fixtures", {"teams": [{
                    "name": "Test", "apps": [f"com.example.test-{test}"], "keys": [{}], "devices": [{"name": "phone"}]}]})
                (team,) = made["teams"]
                (token,) = team["devices"][0]["tokens"].values()
                management.ask("POST", "/v1/notifications", {
                    "token": token, "topic": f"com.example.test-{test}",
                    "payload": {"aps": {"alert": "Hello"}}})
                management.ask("DELETE", "/v1/teams/" + team["teamID"])
            settled(service)
            samples.append(service.server.resident() / 1e6)
    return report(f"a service after {TEAMS} teams have gone", samples, "MB", 30)


def suites(tools, _work):
    """Counts what fails of 200 tests at the same time, in each language that is here, in ten runs. These are tests of the
    packages themselves, which script/testing-clients has prepared. Swift's have the service inside, in the debug build that script/test
    makes."""
    clients, prepared = os.path.join(ROOT, "Clients", "testing"), os.path.join(ROOT, ".build", "testing-clients")
    pytest = os.path.join(prepared, "python", "bin", "pytest")
    commands = {
        # A thread for each test: pytest-xdist would need two hundred processes.
        "python": (pytest, "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", "threads", "tests/test_many.py"),
        "node": ("node", "--test", "--test-name-pattern", "sees its own requests only", "test/apns.test.js"),
        "go": ("go", "test", "-count=1", "-parallel", str(TEAMS), "-run", "TestMany", "./..."),
        "java": (os.path.join(clients, "java", "test"), "--many", str(TEAMS), os.path.join(prepared, "java")),
        "swift": (
            os.path.join(ROOT, "script", "swift"), "test", "--skip-build", "--disable-xctest", "--package-path", ROOT, "--filter",
            r"^CarillonTestingTests\.ManyTeamsTests/"),
    }
    # What has to be there for a language, where it is not the command's first word.
    needed = {"java": "javac", "swift": os.path.join(ROOT, ".build", "debug", "carillonPackageTests.xctest")}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CARILLON")}
    environment["CARILLON"], met = tools.carillon, True
    for language, command in commands.items():
        if shutil.which(needed.get(language, command[0])) is None:
            print(f"{language}: left out, because it is not here, or script/testing-clients or script/test has not prepared it")
            continue
        failed, samples = 0, []
        for _ in range(RUNS):
            began = time.monotonic()
            done = subprocess.run(
                command, cwd=ROOT if language == "swift" else os.path.join(clients, language), env=environment, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True)
            samples.append(time.monotonic() - began)
            # A filter that finds no test is no failure for SwiftPM.
            if done.returncode != 0 or (language == "swift" and "with 1 test" not in done.stdout):
                failed += 1
                print(done.stdout[-2000:], flush=True)
        report(f"200 tests at the same time, {language}", samples, "s")
        met &= report(f"runs of {RUNS} in which one failed, {language}", [failed], "", 0)
    return met


def requests(tools, work):
    service = Memory(tools, work, "memory")
    service.start("--store", "memory")
    with service:
        management = service.manage()
        return all([
            fixture(management), devices(service, management), rehearsed(service, management, work),
            waited(service, management, work)])


def lists(tools, work):
    """Measures pages of the list of devices. They have no bound."""
    service = Memory(tools, work, "listed")
    service.start("--store", "memory")
    with service:
        management = service.manage()
        for number in range(9):
            document = team(1000)
            document["teams"][0] |= {"teamID": f"TEAM00000{number}", "apps": [f"com.example.app{number}"]}
            management.ask("POST", "/v1/fixtures", document)
        pages(management, "virtual ones in memory", 9000)
    if os.path.exists(tools.seed):
        service = Memory(tools, work, "disk")
        service.start()
        service.server.stop()
        run(tools.seed, service.data, work, str(LISTED_DEVICES), "1")
        service.start()
        with service:
            pages(service.manage(), "on disk", LISTED_DEVICES)
    return True


if __name__ == "__main__":
    sys.exit(main())
