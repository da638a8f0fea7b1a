"""Endurance: a fleet that comes and goes, pushes all the while, restarts; memory, files and threads flat at the end."""

import time

import device_rows
from service import Service

FLEET = device_rows.FLEET
PUSHES = 5000

# What may remain after the last round, against the first: memory has noise, the others have none.
MEMORY_GROWTH = 1.25
FILES, THREADS = 5, 4


class Reading:
    """What a server holds while nobody is connected."""

    def __init__(self, server):
        self.memory, self.files, self.threads = server.resident(), server.open_files(), server.threads()

    def __str__(self):
        return f"{self.memory / 1e6:.0f} MB, {self.files} files, {self.threads} threads"


def round_of_life(sides, server):
    """Devices come, are sent to, vanish while they are sent to, and come again for what they missed."""
    with sides.fleet("carillon", server, FLEET) as fleet:
        sides.push("carillon", server, PUSHES)
        device_rows.settle(fleet, PUSHES)
        fleet.process.kill()
        fleet.process.wait()
        sides.push("carillon", server, FLEET)
    with sides.fleet("carillon", server, FLEET) as fleet:
        # The newest notification of each mailbox, at least.
        device_rows.settle(fleet, FLEET * 0.99)
    # Until the memory of the connections has been given back.
    time.sleep(4)
    return Reading(server)


def soak(bench, minutes):
    """Two halves, with a restart between them. The complaints, if any."""
    service = Service(bench.tools, bench.work, "soak", FLEET, certificates=True)
    sides = device_rows.Sides(bench, service)
    end = time.monotonic() + minutes * 60
    complaints = []
    for half in (1, 2):
        stop = end - minutes * 30 if half == 1 else end
        with service.serve() as server:
            first = round_of_life(sides, server)
            bench.note(f"half {half}, first round: {first}")
            last, rounds = first, 1
            while time.monotonic() < stop or rounds < 2:
                last, rounds = round_of_life(sides, server), rounds + 1
            bench.note(f"half {half}, round {rounds}: {last}")
        if last.memory > first.memory * MEMORY_GROWTH:
            complaints.append(f"memory grew from {first.memory / 1e6:.0f} to {last.memory / 1e6:.0f} MB")
        if last.files > first.files + FILES:
            complaints.append(f"open files grew from {first.files} to {last.files}")
        if last.threads > first.threads + THREADS:
            complaints.append(f"threads grew from {first.threads} to {last.threads}")
    return complaints
