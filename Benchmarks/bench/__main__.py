"""Compares the service with other servers. script/bench runs this."""

import argparse
import os
import resource
import shutil
import sys
import tempfile
import time

import device_rows
import growth
import judgement
import provider_rows
import soak
from results import as_json, table
from service import Service
from tools import Tools

ROWS = {
    "validated": provider_rows.validated,
    "stored": provider_rows.stored,
    "threads": provider_rows.threads,
    "delivered": device_rows.delivered,
    # Before the rows of broadcasts, which subscribe the devices to channels.
    "idle": device_rows.idle,
    "broadcast": device_rows.broadcast,
    "beside": device_rows.beside,
}

# What the short form measures by default.
SHORT_ROWS = ["validated", "stored", "delivered"]


class Bench:
    """The amounts to measure, and the services that the rows share."""

    def __init__(self, arguments, work):
        self.work, self.tools = work, Tools(work)
        self.quiet = arguments.json
        self.is_short = arguments.short
        self.round_count = arguments.rounds or (2 if self.is_short else 5)
        self.requests = 40_000 if self.is_short else 100_000
        self.devices = arguments.devices or (1000 if self.is_short else 8000)
        self.seconds = 3 if self.is_short else 8
        self.idle_rounds = 1
        self.services = {}

    def rounds(self, warm_up):
        warm_up()
        for number in range(self.round_count):
            self.note(f"round {number + 1} of {self.round_count}")
            yield number

    def note(self, text):
        if not self.quiet:
            print(f"  {text}", file=sys.stderr, flush=True)

    def service(self, name, make):
        if name not in self.services:
            self.note(f"registering the devices of “{name}”")
            self.services[name] = make()
        return self.services[name]

    def offline_service(self, name="offline"):
        """A service with as many devices as there are requests. The devices never connect."""
        return self.service(name, lambda: Service(self.tools, self.work, name, self.requests))

    def connected_service(self):
        """A service whose devices have certificates. There are enough devices for each row."""
        return self.service(
            "connected", lambda: Service(self.tools, self.work, "connected", max(1000, self.devices), certificates=True)
        )


def main():
    parser = argparse.ArgumentParser(prog="script/bench", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--short", action="store_true", help="small numbers; fails where a ratio stays far off")
    parser.add_argument("--rounds", type=int, help="how many rounds are measured")
    parser.add_argument("--devices", type=int, help="how many devices the rows broadcast, beside and idle connect")
    parser.add_argument("--growth", metavar="SVG", help="measure how cost grows instead, and draw it into a file")
    parser.add_argument("--soak", metavar="MINUTES", type=float, help="see that nothing grows in so many minutes instead")
    rows_help = f"some of: {', '.join(ROWS)}; {', '.join(SHORT_ROWS)} by default with --short, and all without"
    parser.add_argument("rows", nargs="*", help=rows_help)
    arguments = parser.parse_args()
    if unknown := set(arguments.rows) - set(ROWS):
        parser.error(f"unknown rows: {', '.join(sorted(unknown))}")

    # Each connection is an open file here, and another one in the server.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    began = time.monotonic()
    work = tempfile.mkdtemp(prefix="carillon-bench-")
    os.chmod(work, 0o755)
    try:
        bench = Bench(arguments, work)
        if arguments.growth:
            return print(growth.grow(bench, arguments.growth))
        if arguments.soak:
            return sys.exit("\n".join(soak.soak(bench, arguments.soak)) or 0)
        results = []
        for name in arguments.rows or (SHORT_ROWS if arguments.short else ROWS):
            bench.note(name)
            results += judgement.measured(ROWS[name], bench) if arguments.short else ROWS[name](bench)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(as_json(results) if arguments.json else table(results))
    bench.note(f"took {time.monotonic() - began:.0f} s")
    if arguments.short:
        sys.exit(judgement.verdict(results) or 0)


main()
