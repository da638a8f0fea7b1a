"""Measures how memory and CPU grow with devices, mailboxes and apps. Draws a plot, and computes what a machine
can hold."""

import json
import time

import device_rows
from h2load import Load
from plot import write_plot
from provider_rows import NEVER_STORED, STORED, cpu_of
from service import Service

MACHINE = 64e9


class Series:
    """A curve: for growing numbers of something, the bytes of resident memory and the seconds of CPU per 100,000 pushes."""

    def __init__(self, things):
        self.things, self.points = things, []

    def add(self, count, memory, cpu):
        self.points.append({"count": count, "memory": memory, "cpu": round(cpu, 3)})

    @property
    def slope(self):
        """The bytes of memory that each one takes: the slope of the curve, by least squares."""
        counts = [point["count"] for point in self.points]
        memory = [point["memory"] for point in self.points]
        count_mean, memory_mean = sum(counts) / len(counts), sum(memory) / len(memory)
        above = sum((c - count_mean) * (m - memory_mean) for c, m in zip(counts, memory))
        return above / sum((c - count_mean) ** 2 for c in counts)

    def dictionary(self):
        # If memory does not grow with this number, it does not limit the number either.
        fits = int(MACHINE / self.slope) if self.slope >= 1 else None
        return {"things": self.things, "points": self.points, "bytesEach": round(self.slope), "in64GB": fits}


def devices(bench, counts):
    """Measures different numbers of connected devices, with pushes that are delivered to a thousand of them."""
    series = Series("connected devices")
    service = bench.service("growth-devices", lambda: Service(
        bench.tools, bench.work, "growth-devices", max(counts), certificates=True))
    sides = device_rows.Sides(bench, service)
    pushes = 10_000
    for count in counts:
        with service.serve() as server, sides.fleet("carillon", server, count) as fleet:
            time.sleep(2)
            memory = server.resident()

            def send():
                sides.push("carillon", server, pushes)
                device_rows.settle(fleet, pushes)

            series.add(count, memory, cpu_of(server, pushes, send))
        bench.note(f"{count} devices")
    return series


def registered(bench, name, things, sizes, expiration):
    """Measures different numbers of registrations of offline devices, each of which gets one push."""
    series = Series(things)
    for label, count, apps in sizes:
        service = Service(bench.tools, bench.work, f"growth-{name}-{label}", count, apps=apps)
        # The paths for one app of each device. In the file of paths, all apps of a device follow each other.
        paths = service.some_paths("first", slice(None, None, apps))
        load = Load(max(count, 10_000), 8, 100)
        with service.serve() as server:
            ask = lambda: load.run(bench.work, server.port, paths, service.provider_token(), expiration)
            cpu = cpu_of(server, load.requests, ask)
            series.add(label, server.resident(), cpu)
        bench.note(f"{label} {things}")
    return series


def grow(bench, image):
    small = bench.is_short
    all_series = [
        devices(bench, [1000, 2000] if small else [1000, 2500, 5000, 7500, 10_000]),
        registered(
            bench, "mailboxes", "stored mailboxes",
            [(count, count, 1) for count in ([10_000, 20_000] if small else [10_000, 100_000, 300_000, 1_000_000])],
            STORED),
        registered(
            bench, "apps", "apps on each of 2,000 devices",
            [(apps, 2000, apps) for apps in ([1, 5] if small else [1, 10, 25, 50])], NEVER_STORED),
    ]
    write_plot(all_series, image)
    return json.dumps({"growth": [series.dictionary() for series in all_series], "plot": image}, indent=2)
