"""Has the service do what it does most, and writes down for the compiler what ran how often."""

import json
import os

import sample_profile
from device_rows import Sides, settle
from fleet import push
from processes import run
from service import Service

# Each thing that is done this often: enough that the beginning does not count, and a minute in all.
COUNT = 3000
DEVICES = 200


def train(bench, path):
    service = Service(bench.tools, bench.work, "training", DEVICES + COUNT, certificates=True)
    sides = Sides(bench, service, DEVICES)
    # valgrind 3.19 cannot read the debug information that the compiler writes.
    program, counted = os.path.join(bench.work, "carillon-stripped"), os.path.join(bench.work, "counted")
    run("objcopy", "--strip-debug", bench.tools.carillon, program)
    valgrind = ["valgrind", "--tool=callgrind", "--main-stacksize=16777216", "--dump-instr=yes",
                "--instr-atstart=no", f"--callgrind-out-file={counted}", program]
    with service.serve(event_loops=1, program=valgrind) as server:
        with sides.fleet("carillon", server, DEVICES) as devices:
            run("callgrind_control", "--instr=on", str(server.pid))
            work(bench, sides, service, server, devices)
            run("callgrind_control", "--instr=off", str(server.pid))
    with open(counted) as lines:
        counts = sample_profile.counts(lines, program)
    bench.note(f"{len(counts)} instructions ran")
    stacks = sample_profile.frames(symbolizer(), bench.tools.carillon, counts)
    with open(path, "w") as file:
        file.write(sample_profile.profile(counts, stacks))


def work(bench, sides, service, server, devices):
    bench.note("delivering, one by one and in batches")
    for options in ({"rate": 300}, {"window": 2}):
        sides.push("carillon", server, COUNT, **options)
        settle(devices, COUNT, seconds=120)
    offline = os.path.join(service.folder, "offline.txt")
    with open(service.paths) as source, open(offline, "w") as target:
        target.writelines(source.readlines()[DEVICES:])
    bench.note("trying devices that are offline, and storing for them")
    for expiration in ("0", ""):
        push(sides.program, "carillon", server.port, sides.provider_trust["carillon"], COUNT, offline,
             service.provider_token(), window=4, expiration=expiration)


def symbolizer():
    """The one that came with the compiler."""
    resources = json.loads(run("swift", "-print-target-info"))["paths"]["runtimeResourcePath"]
    return os.path.normpath(os.path.join(resources, "..", "..", "bin", "llvm-symbolizer"))
