"""Measures the rows of the provider API: the cost of a push to a device that is not connected."""

import json
import os
import re
from contextlib import nullcontext

import peers
from h2load import Load
from processes import run
from results import Result
from service import Service
from tools import ROOT

# nghttpd serves one path for all requests: with many paths it would spend its time opening files.
PEER_PATH = "/3/device/" + "0" * 64

NEVER_STORED, STORED = "0", "2000000000"


def cpu_of(server, per, work):
    """The seconds of CPU time per 100,000 pushes that the server used while `work` ran."""
    before = server.cpu()
    work()
    return (server.cpu() - before) * 100_000 / per


def validated(bench):
    """Measures requests that pass every check and whose device is offline. The other server answers with a file."""
    cpu = Result("CPU per validated push, device offline", "nghttpd serving a file", "s/100k", 1.4, far_off=3.0)
    latency = Result("its mean latency, one stream at a time", "nghttpd serving a file", "µs", 1.3, far_off=3.0)
    table = Result("CPU per validated push, client uses HPACK's table", "nghttpd, likewise", "s/100k", 1.9, far_off=4.0)
    go = Result("CPU per validated push, device offline", "Go net/http", "s/100k")
    # The system counts CPU time in hundredths of a second, so make each load take more than a second of it.
    full, single = Load(3 * bench.requests, 8, 100), Load(bench.requests // 20, 1, 1)
    indexed = Load(3 * bench.requests, 8, 100, indexed=True)
    service = bench.offline_service()
    token = service.provider_token()
    # The numbers of Go are for information.
    other = nullcontext() if bench.is_short else peers.go_server(bench.tools, bench.work)
    with service.serve(event_loops=1) as ours, peers.nghttpd(bench.tools, bench.work) as theirs, other as gopher:
        ask_ours = lambda load: load.run(bench.work, ours.port, service.paths, token, NEVER_STORED)
        ask_peer = lambda load, peer: load.run(bench.work, peer.port, PEER_PATH, token, NEVER_STORED)
        for _ in bench.rounds(warm_up=lambda: (ask_ours(full), ask_peer(full, theirs))):
            spent = cpu_of(ours, full.requests, lambda: ask_ours(full))
            cpu.add(spent, cpu_of(theirs, full.requests, lambda: ask_peer(full, theirs)))
            latency.add(1e6 * ask_ours(single), 1e6 * ask_peer(single, theirs))
            spent_indexed = cpu_of(ours, indexed.requests, lambda: ask_ours(indexed))
            table.add(spent_indexed, cpu_of(theirs, indexed.requests, lambda: ask_peer(indexed, theirs)))
            if gopher:
                go.add(spent, cpu_of(gopher, full.requests, lambda: ask_peer(full, gopher)))
    return [cpu, latency, table] + ([go] if go.ours else [])


def stored(bench):
    """Measures requests that are answered when their notification is on disk. They are compared with SQLite alone plus
    the row above."""
    result = Result("CPU per push stored, device offline", "bare SQLite + validated push", "s/100k", 1.4, far_off=4.0)
    load = Load(bench.requests, 8, 100)
    service = bench.offline_service()
    token = service.provider_token()
    syncs, target = f"{service.folder}/syncs", f"{service.folder}/bare.sqlite"
    bare = bench.tools.c_program("bare", "-lsqlite3")
    counting = {"LD_PRELOAD": bench.tools.c_program("syncs.so", "-shared", "-fPIC"), "SYNCS": syncs}
    with service.serve(event_loops=1, env=counting) as ours:
        def ask(expiration):
            load.run(bench.work, ours.port, service.paths, token, expiration)

        for _ in bench.rounds(warm_up=lambda: ask(NEVER_STORED)):
            alone = cpu_of(ours, load.requests, lambda: ask(NEVER_STORED))
            before = transactions(syncs)
            spent = cpu_of(ours, load.requests, lambda: ask(STORED))
            made = transactions(syncs) - before
            source = f"{service.data}/carillon.sqlite"
            written = json.loads(run(bare, source, target, str(made), str(checkpoint_pages())))
            result.add(spent, alone + written["cpu"] * 100_000 / written["rows"])
            bench.note(f"{written['rows']} rows in {made} transactions")
    return [result]


def transactions(path):
    """The number of transactions, computed from the counted syncs: see bare/syncs.c."""
    if not os.path.exists(path):
        return 0
    with open(path) as file:
        log, database = map(int, file.read().split())
    # A commit syncs the log once. Copying the log into the database syncs the database once and the log twice: before
    # the copy, and its header after it.
    return log - 2 * database


def checkpoint_pages():
    """The number of pages in the log after which the service copies it into the database. SQLite alone uses the same
    number."""
    with open(os.path.join(ROOT, "Sources/Stores/SQLiteStore/DatabaseOpening.swift")) as file:
        return int(re.search(r"checkpointPages = (\d+)", file.read())[1])


def threads(bench):
    """Measures the first row with two threads, and compares it with one thread."""
    result = Result("CPU per validated push, 2 event loops", "ours with 1", "s/100k", 1.15)
    load = Load(bench.requests, 8, 100)
    services = [bench.offline_service(), bench.offline_service("offline-2")]
    with services[0].serve(event_loops=1) as one, services[1].serve(event_loops=2) as two:
        def ask(server, service):
            load.run(bench.work, server.port, service.paths, service.provider_token(), NEVER_STORED)

        def cost(server, service):
            return cpu_of(server, load.requests, lambda: ask(server, service))

        for _ in bench.rounds(warm_up=lambda: (ask(one, services[0]), ask(two, services[1]))):
            result.add(cost(two, services[1]), cost(one, services[0]))
    return [result]
