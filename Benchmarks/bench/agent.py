"""Measures the device agent against its bounds: memory and wake-ups while it is idle, and the time from the arrival of a
notification at the machine to its line on an app's stream. script/bench agent runs this.

The variables CARILLON and AGENT_PROGRAM name binaries to use in place of the release builds. AGENT_PROGRAM may be `carillon` too.

The notification arrives when its bytes have come. A relay between the service and the agent notes that moment before it passes them
on, without seeing into TLS. The relay and the app are processes of their own, so that Python's threads do not wait for each other. The
agent stores a notification before it passes it to the app, so the disk is a part of the time: the last row is a synced write of the same
disk alone, after the same pause."""

import http.client
import json
import multiprocessing
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from testing import Management, Memory

APP = "com.example.app"
NOTIFICATIONS = 300
# The time before each notification, in seconds. The bytes of earlier answers have come by then.
PAUSE = 0.05
# So long is the agent idle before it is measured, and while its wake-ups are counted, in seconds.
QUIET = 10
IDLE = 60
MEMORY_LIMIT = 15
LATENCY_LIMIT = 2


class Relay:
    """Passes the bytes of connections on, and notes when the first ones come after a moment."""

    def __init__(self, port):
        self.port = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        # The time of the first bytes for the agent since `expect`; 0 before they come.
        self.arrived = multiprocessing.Value("d", 0, lock=False)
        multiprocessing.Process(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(("127.0.0.1", self.port))
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.pass_on, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self.pass_on, args=(server, client, True), daemon=True).start()

    def pass_on(self, source, target, is_for_agent):
        try:
            while data := source.recv(65536):
                if is_for_agent and self.arrived.value == 0:
                    self.arrived.value = time.monotonic()
                target.sendall(data)
        except OSError:
            pass
        for one in (source, target):
            one.close()

    def expect(self):
        self.arrived.value = 0


class LocalConnection(http.client.HTTPConnection):
    """HTTP over the agent's socket."""

    def __init__(self, path):
        super().__init__("agent")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self.path)

    def ask(self, method, path, body=None):
        self.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
        answer = self.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"bench: {method} {path}: {answer.status} {text.decode()}")
        return json.loads(text) if text else None


class App:
    """An app that reads its stream."""

    def __init__(self, socket):
        self.lines, lines = multiprocessing.Pipe(duplex=False)
        self.process = multiprocessing.Process(target=self.read, args=(socket, lines), daemon=True)
        self.process.start()
        status = self.lines.recv()
        if status != 200:
            raise SystemExit(f"bench: the app's stream: {status}")

    @staticmethod
    def read(socket, lines):
        stream = LocalConnection(socket)
        stream.request("GET", f"/v1/apps/{APP}/events")
        answer = stream.getresponse()
        lines.send(answer.status)
        while line := answer.readline():
            lines.send((time.monotonic(), line))

    def next(self):
        """The next event, and when it came."""
        read, line = self.lines.recv()
        return read, json.loads(line)

    def end(self):
        self.process.terminate()
        self.process.join()


class Agent:
    """A running agent, which has one app."""

    def __init__(self, program, work, relay, ca):
        self.state, self.socket = os.path.join(work, "state"), os.path.join(work, "s")
        manifests = os.path.join(work, "apps.d")
        os.makedirs(manifests, mode=0o755)
        with open(os.path.join(manifests, "app.json"), "w") as file:
            json.dump({"bundleID": APP}, file)
        os.chmod(os.path.join(manifests, "app.json"), 0o644)
        words = ["device", "agent"] if os.path.basename(program) == "carillon" else []
        self.log = open(os.path.join(work, "log"), "w")
        self.process = subprocess.Popen(
            [program, *words, "--state", self.state, "--socket", self.socket, "--service", f"https://{relay.address}", "--ca", ca,
             "--apps", manifests, "--no-desktop", "--json"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, text=True)
        if '"ready"' not in self.process.stdout.readline():
            raise SystemExit(f"bench: the agent does not start; see {self.log.name}")

    def status(self, key, task=None):
        path = f"/proc/{self.process.pid}/" + (f"task/{task}/" if task else "") + "status"
        found = re.search(rf"^{key}:\s+(\d+)", open(path).read(), re.MULTILINE)
        return int(found[1]) if found else 0

    def wake_ups(self):
        """How often its threads have waited for something, since the start of the process."""
        total = {}
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            try:
                total[task] = self.status("voluntary_ctxt_switches", task)
            except FileNotFoundError:
                pass
        return total

    def stop(self):
        self.process.terminate()
        self.process.wait()


def synced_writes(folder):
    """The milliseconds of writing and syncing a page of a file."""
    with open(os.path.join(folder, "sync"), "wb") as file:
        for _ in range(100):
            time.sleep(PAUSE)
            began = time.monotonic()
            file.write(bytes(4096))
            file.flush()
            os.fdatasync(file.fileno())
            yield (time.monotonic() - began) * 1000


def latencies(agent, relay, management, token):
    """The milliseconds from the arrival of each notification to its line on the app's stream."""
    requests = LocalConnection(agent.socket)
    app = App(agent.socket)
    for number in range(NOTIFICATIONS):
        text = f"Order {number} is ready"
        time.sleep(PAUSE)
        relay.expect()
        management.ask("POST", "/v1/notifications", {"token": token, "topic": APP, "payload": {"aps": {"alert": text}}})
        read, event = app.next()
        if event["content"]["body"] != text:
            raise SystemExit(f"bench: another event came: {event}")
        requests.ask("POST", f"/v1/apps/{APP}/handled", {"deliveries": [event["delivery"]]})
        yield (read - relay.arrived.value) * 1000
    app.end()


def row(name, value, limit=None):
    is_met = limit is None or value <= limit
    bound = "" if limit is None else f"  {'within' if is_met else 'ABOVE'} {limit:g}"
    print(f"{name:58} {value:10.2f}{bound}", flush=True)
    return is_met


def percentile(samples, share):
    return sorted(samples)[min(len(samples) - 1, int(len(samples) * share))]


def measure(tools, program, work):
    with Memory(tools, work, "service") as service:
        service.start("--store", "memory")
        relay = Relay(int(service.ready["development"]["courier"].rpartition(":")[2]))
        agent = Agent(program, work, relay, service.ready["ca"])
        try:
            token = LocalConnection(agent.socket).ask("PUT", f"/v1/apps/{APP}", {})["token"]
            stream = LocalConnection(agent.socket)
            stream.request("GET", f"/v1/apps/{APP}/events")
            stream.getresponse()
            time.sleep(QUIET)
            before = agent.wake_ups()
            time.sleep(IDLE)
            after = agent.wake_ups()
            woken = {task: count - before.get(task, 0) for task, count in after.items()}
            row(f"wake-ups of the idle agent in {IDLE} s, all threads", sum(woken.values()))
            row("  of the thread that wakes most often", max(woken.values()))
            is_good = row("resident memory of the idle agent, MB", agent.status("VmRSS") / 1024, MEMORY_LIMIT)
            row("  of it its own, not pages of files (RssAnon), MB", agent.status("RssAnon") / 1024)
            row("  of it pages of the program and libraries (RssFile), MB", agent.status("RssFile") / 1024)
            stream.close()
            samples = list(latencies(agent, relay, Management(service.ready), token))
            median = statistics.median(samples)
            is_good &= row("arrival to the line on the app's stream, ms, median", median, LATENCY_LIMIT)
            row("  90 %", percentile(samples, 0.9))
            row("  99 %", percentile(samples, 0.99))
            row("a synced write of a page on this disk alone, ms, median", statistics.median(synced_writes(work)))
            row("resident memory afterwards, MB", agent.status("VmRSS") / 1024)
        finally:
            agent.stop()
    return is_good


class Programs:
    """The programs that are measured."""

    def __init__(self, root):
        release = os.path.join(root, ".build/release")
        self.carillon = os.environ.get("CARILLON", os.path.join(release, "carillon"))
        self.agent = os.environ.get("AGENT_PROGRAM", os.path.join(release, "carillon-agent"))


if __name__ == "__main__":
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    programs = Programs(root)
    # A path of a socket may have about 100 bytes.
    work = tempfile.mkdtemp(prefix="agent", dir=os.environ.get("TMPDIR", "/var/tmp"))
    try:
        is_good = measure(programs, programs.agent, work)
    except BaseException:
        print(f"bench: the logs are in {work}", file=sys.stderr)
        raise
    shutil.rmtree(work)
    sys.exit(0 if is_good else 1)
