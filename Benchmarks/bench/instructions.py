"""Counts what a push costs: instructions in user space, by callgrind, and heap allocations. Unlike times, these come out the same
whatever else the machine does. script/bench instructions runs this.

    script/bench instructions [--write | --check] [row …]

Each value is the difference of two loads, so that the start and the handshakes do not count. --write keeps the values in
Benchmarks/instructions.json. --check counts the rows of GATE again, and fails if one takes over 3 % more than that file says. It
only prints if the file is of another compiler, architecture, processor or valgrind, since these change the count.

The variables CARILLON and SEED name binaries to use in place of the release build."""

import argparse
import json
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import peers
from device_rows import Sides, settle
from gateway import connect, make_devices
from h2load import Load
from processes import run
from provider_rows import NEVER_STORED, PEER_PATH, STORED
from service import Service
from testing import Memory
from tools import FOLDER, Tools

FILE = os.path.join(FOLDER, "instructions.json")
# The difference of these is what counts.
FEW, MANY = 1_000, 11_000
STREAMS = 100
# A device acknowledges within 50 ms or its notification is stored. The service is many times slower while its instructions are
# counted, so few pushes are under way at once.
DEVICES, DELIVERED_WINDOW = 100, 8
GATE = ("validated", "indexed", "stored")
# A count varies by less than 1 % between runs, since reads hold more or fewer requests.
TOLERANCE = 1.03


class Instructions:
    """Counts the instructions of a server, which runs in valgrind."""

    name = "instructions"

    def __init__(self, work):
        self.out = os.path.join(work, "callgrind.out")

    def prepare(self, tools):
        # Only what a control command asks for is written.
        return ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self.out}", "--dump-instr=no"], {}

    def of(self, server, work):
        self.dump(server)
        work()
        return self.dump(server)

    def dump(self, server):
        """The instructions since the last dump."""
        before = set(self.files())
        run("callgrind_control", "--dump", str(server.pid))
        (new,) = set(self.files()) - before
        with open(new) as file:
            total = int(re.search(r"^(?:totals|summary): (\d+)", file.read(), re.MULTILINE)[1])
        os.remove(new)
        return total

    def files(self):
        folder, name = os.path.split(self.out)
        return [os.path.join(folder, each) for each in os.listdir(folder) if each.startswith(name + ".")]


class Allocations:
    """Counts the calls of malloc and its like."""

    name = "allocations"

    def __init__(self, work):
        self.out = os.path.join(work, "mallocs")

    def prepare(self, tools):
        return [], {"LD_PRELOAD": tools.c_program("mallocs.so", "-shared", "-fPIC"), "MALLOCS": self.out}

    def of(self, server, work):
        before = self.count()
        work()
        return self.count() - before

    def count(self):
        with open(self.out, "rb") as file:
            return struct.unpack("=Q", file.read(8))[0]


class Count:
    """What the rows share: the programs, and the services with their devices."""

    def __init__(self, work):
        self.work, self.tools = work, Tools(work)
        # valgrind 3.19 ends at debug information of Swift's version.
        program = os.path.join(work, "carillon")
        run("strip", "--strip-debug", "-o", program, os.environ.get("CARILLON", self.tools.carillon))
        self.tools.carillon = program
        self.tools.seed = os.environ.get("SEED", self.tools.seed)
        self.services = {}

    def service(self, name, devices, certificates=False):
        if name not in self.services:
            self.services[name] = Service(self.tools, self.work, name, devices, certificates=certificates)
        return self.services[name]

    def of_each(self, counter, server, send):
        """What one push costs: `send` sends so many."""
        send(FEW)
        few = counter.of(server, lambda: send(FEW))
        many = counter.of(server, lambda: send(MANY))
        return (many - few) / (MANY - FEW)


def offline(expiration, indexed=False):
    """A push to a device that is not connected; nghttpd serves a file instead."""

    def row(count, counter, peer):
        service = count.service("offline", MANY)
        under, env = counter.prepare(count.tools)
        if peer:
            server, paths = peers.nghttpd(count.tools, count.work, under, env), PEER_PATH
        else:
            server, paths = service.serve(event_loops=1, under=under, env=env), service.paths
        token = service.provider_token()
        with server:
            return count.of_each(counter, server, lambda number: Load(number, 1, STREAMS, indexed).run(
                count.work, server.port, paths, token, expiration))

    return row


def delivered(count, counter, peer):
    """A push to a connected device, which acknowledges it; mosquitto for MQTT."""
    service = count.service("connected", DEVICES, certificates=True)
    sides, kind = Sides(count, service, DEVICES), "mqtt" if peer else "carillon"
    under, env = counter.prepare(count.tools)
    if peer:
        server = peers.mosquitto(count.tools, count.work, under, env)
    else:
        # A hundred devices get all pushes.
        server = service.serve(event_loops=1, under=under, env=env | {"CARILLON_LIMIT_TOKEN_RATE": "0"})
    with server, sides.fleet(kind, server, DEVICES) as devices:
        def send(number):
            sides.push(kind, server, number, connections=1, window=DELIVERED_WINDOW)
            settle(devices, number)

        return count.of_each(counter, server, send)


def forwarded(count, counter, peer):
    """A push that goes on to another Carillon. There is no other server to compare with."""
    if peer:
        return None
    # Services in memory forget their devices, and with them the paths.
    folder = tempfile.mkdtemp(dir=count.work)
    upstream, gateway = Memory(count.tools, folder, "upstream"), Memory(count.tools, folder, "gateway")
    options = ("--store", "memory", "--journal", "0")
    upstream.start(*options)
    with upstream:
        paths, _ = make_devices(upstream, folder)
        under, env = counter.prepare(count.tools)
        gateway.start(*options, under=under, env=env | {"CARILLON_EVENT_LOOPS": "1", "CARILLON_LIMIT_TOKEN_RATE": "0"})
        with gateway:
            connect(gateway, upstream)
            return count.of_each(counter, gateway.server, lambda number: Load(number, 1, STREAMS).run(
                count.work, gateway.port(), paths, gateway.provider_token(), NEVER_STORED))


ROWS = {
    "validated": (offline(NEVER_STORED), "nghttpd"),
    "indexed": (offline(NEVER_STORED, indexed=True), "nghttpd"),
    "stored": (offline(STORED), None),
    "delivered": (delivered, "mosquitto"),
    "forwarded": (forwarded, None),
}


def machine():
    """What the count depends on, beside the program."""
    version = lambda *command: run(*command).splitlines()[0].strip()
    with open("/proc/cpuinfo") as file:
        flags = set(re.search(r"^(?:flags|Features)\s*: (.*)$", file.read(), re.MULTILINE)[1].split())
    return {
        "architecture": platform.machine(),
        "compiler": re.search(r"Swift version \S+", version("swift", "--version"))[0],
        "valgrind": version("valgrind", "--version"),
        # The C library and BoringSSL have other code for each of these.
        "processor": sorted(flags & {"aes", "avx2", "avx", "bmi2", "sha_ni", "asimd", "sha2"}),
    }


def measure(work, names, counters, with_peers):
    count, rows = Count(work), {}
    for name in names:
        row, peer = ROWS[name]
        rows[name] = {}
        for counter in counters:
            rows[name][counter.name] = round(row(count, counter, False), 1)
            if with_peers and peer:
                rows[name].setdefault(peer, {})[counter.name] = round(row(count, counter, True), 1)
        print(text(name, rows[name]), flush=True)
    return rows


def text(name, row):
    ours, peer = row["instructions"], next((key for key in row if isinstance(row[key], dict)), None)
    line = f"{name}: {ours:,.0f} instructions"
    if "allocations" in row:
        line += f", {row['allocations']:.1f} allocations"
    if peer:
        line += f"; {peer} {row[peer]['instructions']:,.0f}, a ratio of {ours / row[peer]['instructions']:.2f}"
    return line


def verdict(kept, here, rows):
    """The rows that cost too much; None if the file is of another machine."""
    if kept["machine"] != here:
        return None
    return [
        f"bench: {name} takes {row['instructions']:,.0f} instructions, and Benchmarks/instructions.json says "
        f"{kept['rows'][name]['instructions']:,.0f}"
        for name, row in rows.items() if row["instructions"] > kept["rows"][name]["instructions"] * TOLERANCE]


def main():
    parser = argparse.ArgumentParser(prog="script/bench instructions")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--write", action="store_true", help="keep the values in Benchmarks/instructions.json")
    mode.add_argument("--check", action="store_true", help="fail if a row takes over 3 % more than the file says")
    parser.add_argument("rows", nargs="*", help=f"some of: {', '.join(ROWS)}; with --check {', '.join(GATE)} by default")
    arguments = parser.parse_args()
    if unknown := set(arguments.rows) - set(ROWS):
        parser.error(f"unknown rows: {', '.join(sorted(unknown))}")
    work = tempfile.mkdtemp(prefix="carillon-bench-")
    os.chmod(work, 0o755)
    try:
        counters = [Instructions(work)] + ([] if arguments.check else [Allocations(work)])
        rows = measure(
            work, arguments.rows or (GATE if arguments.check else ROWS), counters, with_peers=not arguments.check)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if arguments.write:
        kept = {"rows": {}}
        if arguments.rows and os.path.exists(FILE):
            with open(FILE) as file:
                kept = json.load(file)
        with open(FILE, "w") as file:
            json.dump({"machine": machine(), "rows": kept["rows"] | rows}, file, indent=2)
            file.write("\n")
    if arguments.check:
        with open(FILE) as file:
            kept = json.load(file)
        faults = verdict(kept, machine(), rows)
        if faults is None:
            print("bench: Benchmarks/instructions.json is of another compiler, processor or valgrind, so nothing is compared")
        elif faults:
            sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
