"""Measures a cluster on this machine: pushes from one node to the devices of another, stored pushes through three nodes, and
10,000 devices of which a node dies. script/bench cluster runs this. Needs PostgreSQL, pgbench, Go, h2load and HAProxy.

usage: cluster.py [--short] [forwarded] [stored] [killed] [slopes]   (all by default)

The variables CARILLON and SEED name binaries to use in place of the release build."""

import argparse
import asyncio
import json
import os
import pathlib
import re
import resource
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from device_rows import FLEET, Sides, settle
from h2load import Load
from processes import Server, free_port, run
from provider_rows import STORED, cpu_of
from service import Service
from testing import report
from tools import FOLDER, ROOT, Tools

sys.path.insert(0, os.path.join(ROOT, "Tests/Nodes"))

from database import Database  # noqa: E402

# How many milliseconds more a push to another node's device may take (median).
MORE_LATENCY = 3
# How long until all devices of a node that was killed are connected again.
BACK_WITHIN = 30
STORED_TOTAL = "carillon_accepted_to_stored_seconds_count"


class Cluster:
    """A PostgreSQL server with the copy of a service's store, and nodes on it."""

    def __init__(self, tools, work, service):
        self.tools, self.service = tools, service
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=work))
        self.folder.chmod(0o711)
        self.key = self.folder / "store.key"
        self.key.write_text(secrets.token_hex(32))
        self.database = Database(self.folder / "database")
        asyncio.run(self.database.primary.ask("SELECT 1"))
        self.host = self.database.primary.folder
        self.url = f"postgresql:///postgres?host={self.host}&user=carillon"
        run(tools.carillon, "store", "copy", "--from", f"sqlite:{service.data}", "--to", self.url,
            "--store-key-file", str(self.key))
        self.sql("ANALYZE")

    def start(self, name, environment="production"):
        """Starts a node."""
        out = str(self.folder / f"{name}.ready")
        open(out, "w").close()
        command = [
            self.tools.carillon, "serve", "--json", "--data", str(self.folder / name), "--node-name", name, "--ports",
            "ephemeral", "--environment", environment, "--peer", "127.0.0.1:0", "--store", self.url,
            "--store-key-file", str(self.key)]
        node = Server(name, command, 0, out)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and node.process.poll() is None:
            for line in open(out):
                if line.startswith("{") and line.endswith("\n"):
                    ready = json.loads(line)
                    node.port, node.courier = (
                        int(ready[environment][kind].rpartition(":")[2]) for kind in ("provider", "courier"))
                    node.management, node.data = ready["management"]["url"], str(self.folder / name)
                    return node
            time.sleep(0.02)
        node.stop()
        raise SystemExit(f"bench: the node {name} does not start; see {out}")

    def command(self, *arguments):
        """The way to run one of PostgreSQL's programs on the database."""
        server = self.database.primary
        result = subprocess.run(
            [*server.prefix, *map(str, arguments)], env=server.environment | {"PGHOST": str(self.host), "PGUSER":
            "carillon", "PGDATABASE": "postgres"}, cwd=self.host, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if result.returncode != 0:
            raise SystemExit(f"bench: {arguments[0]} failed: {result.stderr[-2000:]}")
        return result.stdout

    def sql(self, *statements):
        return self.command("psql", "-At", *(part for statement in statements for part in ("-c", statement))).strip()

    def wal_bytes(self):
        return int(self.sql("SELECT pg_current_wal_lsn() - '0/0'"))

    def row_changes(self):
        """The rows that were inserted, updated or deleted. PostgreSQL counts the last ones of a connection that falls idle
        after ten seconds (PGSTAT_IDLE_INTERVAL)."""
        time.sleep(11)
        return int(self.sql(
            "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables WHERE schemaname = 'carillon'"))

    def table_bytes(self):
        """What devices and their apps take on disk, with indexes."""
        return int(self.sql(
            "SELECT sum(pg_total_relation_size(name)) FROM unnest(ARRAY['carillon.destination','carillon.device']"
            "::regclass[]) AS name"))

    def script(self, name):
        """A script in a folder that PostgreSQL's user may read."""
        path = self.database.folder / name
        shutil.copy(os.path.join(FOLDER, "postgres", name), path)
        path.chmod(0o644)
        return path

    def end(self):
        self.database.end()


def gauge(node, name):
    """A value of a node's metrics."""
    with urllib.request.urlopen(f"{node.management}/metrics", timeout=10) as answer:
        return metric(answer.read().decode(), name)


def metric(text, name):
    """The sum over all labels of a value in Prometheus' text format."""
    return sum(float(value) for value in re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE))


class Pair:
    """Two nodes whose CPU counts as one."""

    def __init__(self, *nodes):
        self.nodes = nodes

    def cpu(self):
        return sum(node.cpu() for node in self.nodes)


def forwarded(bench):
    """Pushes that arrive at one node, for devices that are connected to another one."""
    service = bench.connected_service()
    sides = Sides(bench, service)
    cluster = Cluster(bench.tools, bench.work, service)
    costs, latencies = {"single": [], "pair": []}, {"single": [], "pair": []}
    try:
        with service.serve() as single, cluster.start("one") as one, cluster.start("two") as two, \
                sides.fleet("carillon", single, FLEET) as here, sides.fleet("carillon", two, FLEET) as there:
            parties = [("single", single, single, here), ("pair", one, Pair(one, two), there)]

            def send(server, receivers, count, **options):
                sides.push("carillon", server, count, **options)
                return settle(receivers, count)

            # The first notification to each device goes through the store, which says where the device is.
            for _, server, _, receivers in parties:
                for _ in range(3):
                    send(server, receivers, FLEET)
                    time.sleep(1)
            through, changes = -gauge(one, STORED_TOTAL), -cluster.row_changes()
            for _ in range(bench.round_count):
                for name, server, counted, receivers in parties:
                    costs[name].append(
                        cpu_of(counted, bench.pushes, lambda: send(server, receivers, bench.pushes)))
                    seen = send(server, receivers, bench.rate * bench.seconds, rate=bench.rate)
                    latencies[name].append(1e3 * seen["median"])
            sent = bench.round_count * (bench.pushes + bench.rate * bench.seconds)
            through, changes = through + gauge(one, STORED_TOTAL), changes + cluster.row_changes()
    finally:
        cluster.end()
    report("CPU per push, single process", costs["single"], "s/100k")
    report("CPU per push from one node to a device of another", costs["pair"], "s/100k")
    ratios = [pair / single for single, pair in zip(costs["single"], costs["pair"], strict=True)]
    met = report("their ratio", ratios, "", 2)
    # Otherwise this has measured another way.
    met = report("the share of these pushes that went through the store", [through / sent], "", 0.05) and met
    report("row changes, for each push from node to node", [changes / sent], "")
    report(f"latency at {bench.rate}/s, single process", latencies["single"], "ms")
    report(f"latency at {bench.rate}/s, to another node", latencies["pair"], "ms")
    more = [pair - single for single, pair in zip(latencies["single"], latencies["pair"], strict=True)]
    return report("what it takes longer (medians)", more, "ms", MORE_LATENCY) and met


def stored(bench):
    """Stored pushes through three nodes, beside pgbench with the same statements on the same server."""
    service = bench.offline_service()
    cluster = Cluster(bench.tools, bench.work, service)
    ours, theirs, writes = [], [], []
    try:
        token = service.provider_token()
        with open(service.paths) as file:
            lines = file.readlines()
        parts = []
        for number in range(3):
            path = f"{cluster.folder}/paths{number}.txt"
            with open(path, "w") as file:
                file.writelines(lines[number::3])
            parts.append(path)
        load = Load(bench.requests // 3, 4, 100)
        with cluster.start("one") as one, cluster.start("two") as two, cluster.start("three") as three:
            nodes = [one, two, three]

            def ask(node, part, number):
                folder = f"{cluster.folder}/load{number}"
                os.makedirs(folder, exist_ok=True)
                load.run(folder, node.port, part, token, STORED)

            def all_at_once():
                threads = [
                    threading.Thread(target=ask, args=(node, part, number))
                    for number, (node, part) in enumerate(zip(nodes, parts))]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()

            all_at_once()
            for _ in range(bench.round_count):
                before, began = cluster.wal_bytes(), time.monotonic()
                all_at_once()
                ours.append(3 * load.requests / (time.monotonic() - began))
                writes.append((cluster.wal_bytes() - before) / (3 * load.requests))
        kept = int(cluster.sql("SELECT count(*) FROM carillon.destination WHERE expires IS NOT NULL"))
        if kept < 3 * load.requests * 0.99:
            raise SystemExit(f"bench: {3 * load.requests} were accepted, and {kept} are stored")
        cluster.command("psql", "-q", "-f", cluster.script("fill.sql"))
        for _ in range(bench.round_count):
            text = cluster.command(
                "pgbench", "-n", "-M", "prepared", "-c", "4", "-j", "2", "-T", str(bench.seconds), "-D", "batch=300", "-f",
                cluster.script("upsert.sql"))
            theirs.append(300 * float(re.search(r"tps = ([0-9.]+)", text)[1]))
    finally:
        cluster.end()
    report("stored pushes through three nodes", ours, "/s")
    report("pgbench with the same statements, rows", theirs, "/s")
    report("write-ahead log of PostgreSQL per stored push", writes, "B")
    ratio = statistics.median(ours) / statistics.median(theirs)
    return report("stored pushes, as a share of pgbench", [ratio], "", 0.5, at_least=True)


def most_connections():
    """The number of connections for which HAProxy may have open files, two for each, as far as the system allows."""
    return (resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 200) // 2


class Balancer:
    """HAProxy before the couriers of nodes. It notices within a second that a node has died."""

    def __init__(self, work, nodes):
        self.port = free_port()
        path = os.path.join(work, "haproxy.cfg")
        with open(path, "w") as file:
            file.write(self.configuration(self.port, {node.name: node.courier for node in nodes}))
        self.server = Server("haproxy", ["haproxy", "-q", "-f", path], self.port, f"{work}/haproxy.log").wait_for_port()

    @staticmethod
    def configuration(port, couriers):
        servers = "\n".join(f"    server {name} 127.0.0.1:{courier}" for name, courier in couriers.items())
        return (
            f"global\n    maxconn {most_connections()}\ndefaults\n    mode tcp\n    balance leastconn\n    timeout connect 5s\n"
            "    timeout client 1h\n    timeout server 1h\n    default-server check inter 500ms fall 1 rise 1\n"
            f"    option redispatch\nlisten couriers\n    bind 127.0.0.1:{port}\n{servers}\n")


class Phones:
    """`carillon device fleet` behind the balancer. It writes its totals ten times a second."""

    def __init__(self, tools, work, cluster, port, count):
        front = os.path.join(work, "front")
        os.makedirs(front)
        with open(os.path.join(cluster.data, "service.json")) as file:
            description = json.load(file)
        description["development"]["courier"] = f"127.0.0.1:{port}"
        with open(os.path.join(front, "service.json"), "w") as file:
            json.dump(description, file)
        self.process = subprocess.Popen(
            [tools.carillon, "device", "fleet", "--json", "--data", front, "--environment", "development", "--count",
             str(count), "--bundle-id", "com.example.app", "--interval", "0.1"], stdout=subprocess.PIPE, text=True)

    def totals(self):
        """The next line."""
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f"bench: the fleet has ended ({self.process.wait()})")
            totals = json.loads(line)
            if totals["event"] == "totals":
                return totals

    def stop(self):
        self.process.terminate()
        self.process.communicate()


def are_back(now, before, held, count):
    """Whether the devices of a node that has died are all connected again. Right after its death they still count as
    connected, but have not connected again."""
    return now["reconnects"] - before["reconnects"] >= held and now["connected"] == count


def killed(bench):
    """Many devices over three nodes, one of which dies. Its devices connect to the others, and these notice nothing."""
    # In the development environment the fleet needs no activation codes.
    service = bench.offline_service()
    cluster = Cluster(bench.tools, bench.work, service)
    seconds, others = [], []
    try:
        for number in range(bench.kills):
            nodes = [cluster.start(f"{name}{number}", "development") for name in ("one", "two", "three")]
            folder = tempfile.mkdtemp(dir=bench.work)
            balancer = Balancer(folder, nodes)
            phones = Phones(bench.tools, folder, nodes[0], balancer.port, bench.phones)
            try:
                while phones.totals()["connected"] < bench.phones:
                    pass
                totals = phones.totals()
                held = int(gauge(nodes[2], "carillon_connected_devices"))
                nodes[2].process.kill()
                nodes[2].process.wait()
                began = time.monotonic()
                while not are_back(now := phones.totals(), totals, held, bench.phones):
                    if time.monotonic() - began > 4 * BACK_WITHIN:
                        raise SystemExit(f"bench: {now['connected']} of {bench.phones} devices are connected")
                seconds.append(time.monotonic() - began)
                # Others would show up as further reconnections, perhaps later.
                for _ in range(30):
                    now = phones.totals()
                others.append(now["reconnects"] - totals["reconnects"] - held)
                bench.note(f"{held} devices of {bench.phones} were on the node that was killed")
            finally:
                phones.stop()
                balancer.server.stop()
                for node in nodes:
                    node.stop()
    finally:
        cluster.end()
    met = report(f"{bench.phones} devices, a node killed: all are back", seconds, "s", BACK_WITHIN)
    return report("devices of other nodes that noticed", others, "", 0) and met


def slopes(bench):
    """What the table of sizes in docs/cluster.md is computed from."""
    service = bench.connected_service()
    sides = Sides(bench, service)
    cluster = Cluster(bench.tools, bench.work, service)
    try:
        with cluster.start("one") as node:
            with sides.fleet("carillon", node, 100):
                pass
            time.sleep(1)
            before = node.resident()
            with sides.fleet("carillon", node, bench.devices):
                time.sleep(3)
                report("memory of a node, for each device", [(node.resident() - before) / bench.devices / 1024], "KB")
            # The first connection of a device makes its row. The node gives the devices up when they have gone.
            time.sleep(3)
            changes = cluster.row_changes()
            with sides.fleet("carillon", node, bench.devices):
                pass
            time.sleep(3)
            report("row changes, for each connection of a device", [(cluster.row_changes() - changes) / bench.devices], "")
            with cluster.start("two") as other, sides.fleet("carillon", node, FLEET) as receivers:
                changes, stored = cluster.row_changes(), gauge(other, STORED_TOTAL)
                sides.push("carillon", other, FLEET, expiration=STORED)
                settle(receivers, FLEET)
                time.sleep(2)
                through = gauge(other, STORED_TOTAL) - stored
                if through < FLEET / 2:
                    raise SystemExit(f"bench: only {through:g} of {FLEET} pushes went through the store")
                report("row changes, for each push through the store", [(cluster.row_changes() - changes) / through], "")
        # A million devices, each with an app.
        empty = cluster.table_bytes()
        cluster.command("psql", "-q", "-f", cluster.script("fill.sql"))
        filled = cluster.table_bytes()
        report("PostgreSQL, for each device with one app", [(filled - empty) / 1_000_000], "B")
    finally:
        cluster.end()
    return True


class Bench:
    """The amounts to measure."""

    def __init__(self, work, is_short):
        self.work, self.tools = work, Tools(work)
        self.tools.carillon = os.environ.get("CARILLON", self.tools.carillon)
        self.tools.seed = os.environ.get("SEED", self.tools.seed)
        self.round_count = 1 if is_short else 5
        self.requests = 3000 if is_short else 90_000
        self.pushes = 2000 if is_short else 50_000
        self.devices = 1000 if is_short else 8000
        self.rate, self.seconds = (200, 2) if is_short else (1000, 8)
        # The system may allow fewer open files than 10,000 devices need.
        self.phones, self.kills = (300, 1) if is_short else (min(10_000, most_connections()), 3)
        self.services = {}

    def note(self, text):
        print(f"  {text}", file=sys.stderr, flush=True)

    def service(self, name, count, **options):
        if name not in self.services:
            self.services[name] = Service(self.tools, self.work, name, count, **options)
        return self.services[name]

    def offline_service(self):
        return self.service("offline", self.requests)

    def connected_service(self):
        return self.service("connected", max(FLEET, self.devices), certificates=True)


ROWS = {"forwarded": forwarded, "stored": stored, "killed": killed, "slopes": slopes}


def main():
    parser = argparse.ArgumentParser(prog="script/bench cluster", description=__doc__)
    parser.add_argument("--short", action="store_true", help="small numbers, to see that it works")
    parser.add_argument("rows", nargs="*", help=f"some of: {', '.join(ROWS)}; all by default")
    arguments = parser.parse_args()
    if unknown := set(arguments.rows) - set(ROWS):
        parser.error(f"unknown rows: {', '.join(sorted(unknown))}")
    # Each device is an open file in the fleet, two in the load balancer, and one in a node.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    try:
        hard = max(hard, 65_536)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    work = tempfile.mkdtemp(prefix="carillon-bench-")
    os.chmod(work, 0o755)
    try:
        bench = Bench(work, arguments.short)
        met = [ROWS[name](bench) for name in arguments.rows or ROWS]
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return 0 if all(met) or arguments.short else 1


if __name__ == "__main__":
    sys.exit(main())
