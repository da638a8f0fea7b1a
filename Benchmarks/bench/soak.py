"""A test of endurance: a fleet connects, gets pushes and disconnects, again and again, with a restart of the service
halfway. Memory, open files and threads must not grow."""

import statistics
import time

import device_rows
from service import Service

FLEET = device_rows.FLEET
PUSHES = 5000

# By how much the median of the last third of the rounds may exceed that of the first third. Memory always varies a
# little. The thread pools of Swift and Dispatch start threads for work and end them some seconds later, so one round
# may have five threads more than another.
MEMORY_GROWTH = 1.25
FILES, THREADS = 5, 6


class Reading:
    """The memory, open files and threads of a server to which nobody is connected."""

    def __init__(self, server):
        self.memory, self.files, self.threads = server.resident(), server.open_files(), server.threads()

    def __str__(self):
        return f"{self.memory / 1e6:.0f} MB, {self.files} files, {self.threads} threads"


def round_of_life(sides, server):
    """One round: devices connect, get pushes, disappear before further pushes, and connect again to get these."""
    with sides.fleet("carillon", server, FLEET) as fleet:
        sides.push("carillon", server, PUSHES)
        device_rows.settle(fleet, PUSHES)
        fleet.process.kill()
        fleet.process.wait()
        sides.push("carillon", server, FLEET)
    with sides.fleet("carillon", server, FLEET) as fleet:
        # Each device must get at least the newest notification of its mailbox.
        device_rows.settle(fleet, FLEET * 0.99)
    # Wait until the memory of the connections is returned to the system.
    time.sleep(4)
    return Reading(server)


def soak(bench, minutes):
    """Runs two halves, with a restart between them. Returns a list of what has grown."""
    service = Service(bench.tools, bench.work, "soak", FLEET, certificates=True)
    sides = device_rows.Sides(bench, service)
    end = time.monotonic() + minutes * 60
    complaints = []
    for half in (1, 2):
        stop = end - minutes * 30 if half == 1 else end
        with service.serve() as server:
            readings = [round_of_life(sides, server)]
            bench.note(f"half {half}, first round: {readings[0]}")
            while time.monotonic() < stop or len(readings) < 2:
                readings.append(round_of_life(sides, server))
            bench.note(f"half {half}, round {len(readings)}: {readings[-1]}")
        complaints += growth(readings)
    return complaints


def growth(readings):
    """Returns a sentence for each value that has grown from the first third of the readings to the last."""
    third = max(1, len(readings) // 3)

    def medians(what):
        return [statistics.median(map(what, part)) for part in (readings[:third], readings[-third:])]

    complaints = []
    first, last = medians(lambda reading: reading.memory)
    if last > first * MEMORY_GROWTH:
        complaints.append(f"memory grew from {first / 1e6:.0f} to {last / 1e6:.0f} MB")
    first, last = medians(lambda reading: reading.files)
    if last > first + FILES:
        complaints.append(f"open files grew from {first:g} to {last:g}")
    first, last = medians(lambda reading: reading.threads)
    if last > first + THREADS:
        complaints.append(f"threads grew from {first:g} to {last:g}")
    return complaints
