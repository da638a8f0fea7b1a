"""Has the service do what it does most, and writes down for the compiler what ran how often."""

import json
import os

import sample_profile
from device_rows import Sides, settle
from processes import run
from service import Service

# Each thing that is done this often: enough that the beginning does not count.
COUNT = 3000
DEVICES = 200


def train(bench, path):
    symbolizer = find_symbolizer()
    service = Service(bench.tools, bench.work, "training", DEVICES + COUNT, certificates=True)
    sides = Sides(bench, service, DEVICES)
    # valgrind writes where a program really is, and 3.19 cannot read the debug information of ours.
    folder = os.path.realpath(bench.work)
    program, counted = os.path.join(folder, "carillon-stripped"), os.path.join(folder, "counted")
    run("objcopy", "--strip-debug", bench.tools.carillon, program)
    valgrind = ["valgrind", "--tool=callgrind", "--main-stacksize=16777216", "--dump-instr=yes",
                "--instr-atstart=no", f"--callgrind-out-file={counted}", program]
    with service.serve(event_loops=1, program=valgrind) as server:
        with sides.fleet("carillon", server, DEVICES) as devices:
            count_instructions(server, "on")
            work(bench, sides, server, devices)
            count_instructions(server, "off")
        # What is counted is written at the end, which takes longer than the end of a service.
        server.stop(seconds=120)
    with open(counted) as file:
        lines = file.readlines()
    counts = sample_profile.counts(lines, program)
    if not counts or not any(line.startswith("totals:") for line in lines[-3:]):
        raise SystemExit("bench: valgrind has not counted to the end")
    bench.note(f"{len(counts)} instructions ran")
    with open(path, "w") as file:
        file.write(sample_profile.profile(counts, sample_profile.stacks(symbolizer, bench.tools.carillon, counts)))


def count_instructions(server, switch):
    answer = run("callgrind_control", f"--instr={switch}", str(server.pid), timeout=60)
    # It does not fail when it fails.
    if "Error" in answer:
        raise SystemExit(f"bench: {answer}")


def work(bench, sides, server, devices):
    bench.note("delivering, one by one and in batches")
    for options in ({"rate": 200}, {"window": 2}):
        sides.push("carillon", server, COUNT, **options)
        settle(devices, COUNT, seconds=120)
    bench.note("trying devices that are offline, and storing for them")
    offline = sides.service.some_paths("offline", slice(DEVICES, None))
    for expiration in ("0", ""):
        sides.push("carillon", server, COUNT, offline, window=4, expiration=expiration)


def find_symbolizer():
    """The one that came with the compiler."""
    resources = json.loads(run("swift", "-print-target-info"))["paths"]["runtimeResourcePath"]
    symbolizer = os.path.normpath(os.path.join(resources, "..", "..", "bin", "llvm-symbolizer"))
    if not os.path.exists(symbolizer):
        raise SystemExit(f"bench: the compiler came without {symbolizer}")
    return symbolizer
