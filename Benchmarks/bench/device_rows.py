"""Measures the rows with connected devices, and compares them with an MQTT broker that has the same devices."""

import math
import statistics
import threading
import time

import peers
from fleet import Fleet, Trust, push
from provider_rows import cpu_of
from results import Result

# The number of devices that the pushes go to.
FLEET = 1000
# How many pushes go to other devices in each second of broadcasts.
OTHER_RATE = 200


class Sides:
    """The two servers, ours and theirs, with the certificates and paths for their clients."""

    def __init__(self, bench, service, devices=FLEET):
        self.program = bench.tools.go_program("load")
        self.service = service
        key, certificate = bench.tools.server_identity(bench.work)
        self.trust = {
            "carillon": Trust(service.authority, f"{service.folder}/devices.pem", f"{service.folder}/device.key"),
            "mqtt": Trust(certificate, certificate, key),
        }
        self.provider_trust = {"carillon": Trust(service.authority), "mqtt": self.trust["mqtt"]}
        self.paths = service.some_paths("connected", slice(devices))

    def fleet(self, kind, server, count, channel="", first=0, yields=False):
        port = server.courier if kind == "carillon" else server.port
        return Fleet(self.program, kind, port, self.trust[kind], count, channel, first, yields)

    def push(self, kind, server, count, paths=None, **options):
        """Sends to the connected devices, or to those in `paths`."""
        token = self.service.provider_token() if kind == "carillon" else ""
        return push(
            self.program, kind, server.port, self.provider_trust[kind], count, paths or self.paths,
            token, **options
        )


def delivered(bench):
    """Measures pushes to connected devices that acknowledge them: the cost of each, and how long it is under way."""
    peer = "mosquitto, QoS 1, mutual TLS"
    cpu = Result("CPU per push delivered and acknowledged", peer, "s/100k", 1.25, far_off=3.5)
    # Latencies have no bound here: so few values, on a shared machine, mostly show how busy the machine is.
    median = Result("its latency at half of full load, median", peer, "ms", 0.8)
    p99 = Result("its latency at half of full load, 99th percentile", peer, "ms", 1.0)
    service = bench.connected_service()
    sides = Sides(bench, service)
    count = bench.requests // 2
    # One event loop, because mosquitto has one thread.
    with service.serve(event_loops=1) as ours, peers.mosquitto(bench.tools, bench.work) as theirs:
        with sides.fleet("carillon", ours, FLEET) as devices, sides.fleet("mqtt", theirs, FLEET) as clients:
            parties = [("carillon", ours, devices), ("mqtt", theirs, clients)]

            def send(kind, server, receivers, sent, **options):
                seconds = sides.push(kind, server, sent, **options)
                report = settle(receivers, sent)
                return seconds, report

            fastest = {}
            for _ in bench.rounds(warm_up=lambda: [send(*party, count // 5) for party in parties]):
                spent = {}
                for party in parties:
                    def once(party=party):
                        fastest[party[0]] = count / send(*party, count)[0]
                    spent[party[0]] = cpu_of(party[1], count, once)
                cpu.add(spent["carillon"], spent["mqtt"])
                # The same load for both servers: half of what the slower one can take.
                rate = min(fastest.values()) / 2
                seen = {party[0]: send(*party, int(rate * bench.seconds), rate=rate)[1] for party in parties}
                median.add(1e3 * seen["carillon"]["median"], 1e3 * seen["mqtt"]["median"])
                p99.add(1e3 * seen["carillon"]["p99"], 1e3 * seen["mqtt"]["p99"])
            bench.note(f"full load: {fastest['carillon']:.0f}/s ours, {fastest['mqtt']:.0f}/s mosquitto")
    return [cpu, median, p99]


def broadcast(bench):
    """One message to a channel, or topic, that all devices are subscribed to: what each delivery costs."""
    peer = "mosquitto, one topic, QoS 1, mutual TLS"
    cpu = Result("CPU per delivery of a broadcast", peer, "s/100k", 1.5, far_off=4.0)
    spread = Result("a broadcast's way to the last percent of devices", peer, "ms")
    service = bench.connected_service()
    devices = bench.devices
    sides = Sides(bench, service, devices)
    count = max(5, bench.requests // devices)
    # One event loop, because mosquitto has one thread. The limits of a single channel are for providers.
    env = {"CARILLON_LIMIT_BROADCAST_RATE": "0", "CARILLON_LIMIT_UNACKNOWLEDGED_BROADCASTS": "1000"}
    with service.serve(event_loops=1, env=env) as ours, peers.mosquitto(bench.tools, bench.work) as theirs:
        channel = service.create_channel()
        channels = {"carillon": channel, "mqtt": "channel"}
        with sides.fleet("carillon", ours, devices, channel) as phones, \
                sides.fleet("mqtt", theirs, devices, channels["mqtt"]) as clients:
            parties = [("carillon", ours, phones), ("mqtt", theirs, clients)]

            def send(kind, server, receivers, sent):
                # One after the other: the next one when all devices have had this one.
                seen = None
                for _ in range(sent):
                    sides.push(
                        kind, server, 1, connections=1, window=1, expiration="0", channel=channels[kind])
                    seen = settle(receivers, devices)
                return seen

            for _ in bench.rounds(warm_up=lambda: [send(*party, 2) for party in parties]):
                spent, late = {}, {}
                for party in parties:
                    def once(party=party):
                        late[party[0]] = 1e3 * send(*party, count)["p99"]
                    spent[party[0]] = cpu_of(party[1], count * devices, once)
                cpu.add(spent["carillon"], spent["mqtt"])
                spread.add(late["carillon"], late["mqtt"])
    return [cpu, spread]


def beside(bench):
    """One broadcast after the other to most devices: how long one takes, and what it costs pushes to the other devices."""
    others = bench.devices // 10
    subscribed = bench.devices - others
    result = Result("latency of other pushes during broadcasts, median", "without broadcasts", "ms", 2.0)
    p99 = Result("their latency, 99th percentile", "without broadcasts", "ms")
    last = Result(f"a broadcast's way to all of {subscribed} devices", f"{subscribed} of 50,000 devices in 1.5 s", "ms", 1.0)
    service = bench.connected_service()
    sides = Sides(bench, service, bench.devices)
    paths = service.some_paths("others", slice(subscribed, bench.devices))
    env = {"CARILLON_LIMIT_BROADCAST_RATE": "0", "CARILLON_LIMIT_UNACKNOWLEDGED_BROADCASTS": "1000"}
    with service.serve(env=env) as server:
        channel = service.create_channel()
        with sides.fleet("carillon", server, subscribed, channel, yields=True) as phones, \
                sides.fleet("carillon", server, others, first=subscribed) as receivers:

            def push():
                count = OTHER_RATE * bench.seconds
                sides.push("carillon", server, count, paths=paths, rate=OTHER_RATE)
                return settle(receivers, count)

            def send_broadcast():
                sides.push("carillon", server, 1, connections=1, window=1, expiration="0", channel=channel)
                return 1e3 * settle(phones, subscribed)["last"]

            def push_during_broadcasts():
                ended, told = threading.Event(), []

                def broadcasts():
                    while not ended.is_set():
                        told.append(send_broadcast())

                thread = threading.Thread(target=broadcasts)
                thread.start()
                try:
                    return push(), told
                finally:
                    ended.set()
                    thread.join()

            for _ in bench.rounds(warm_up=push):
                last.add(statistics.median(send_broadcast() for _ in range(5)), 1500 * subscribed / 50_000)
                usual = push()
                during, told = push_during_broadcasts()
                result.add(1e3 * during["median"], 1e3 * usual["median"])
                p99.add(1e3 * during["p99"], 1e3 * usual["p99"])
            bench.note(f"{len(told)} broadcasts in {bench.seconds} s, each {statistics.median(told):.0f} ms; {OTHER_RATE} other pushes/s")
    return [result, p99, last]


def settle(receivers, expected, seconds=20):
    """Waits until the devices have received everything that was sent. Returns their report."""
    # Each must arrive at least once. A notification that comes twice is counted twice.
    report = receivers.wait_for(math.ceil(expected * 0.999), seconds)
    if report["received"] < expected * 0.999:
        raise SystemExit(f"bench: {expected} were sent, and {report['received']} arrived")
    return report


def idle(bench):
    """Measures the memory of idle devices while they are connected, and after they have disconnected."""
    peer = "mosquitto, mutual TLS"
    memory = Result("memory per idle connected device", peer, "KB", 1.75)
    after = Result("memory after all of them have gone", "before they came", "MB", 1.5)
    service = bench.connected_service()
    sides = Sides(bench, service)
    for _ in range(bench.idle_rounds):
        ours, before, gone = idle_memory(bench, sides, "carillon", service.serve)
        after.add(gone / 1e6, before / 1e6)
        memory.add(ours, idle_memory(bench, sides, "mqtt", lambda: peers.mosquitto(bench.tools, bench.work))[0])
    return [memory, after]


def idle_memory(bench, sides, kind, start):
    """Starts a server and connects idle devices. Returns the KiB of memory for each of them, and the bytes of memory of the
    server before they came and after they have gone."""
    with start() as server:
        # Connect some devices first: memory that the first connections allocate for good must not count for the others.
        with sides.fleet(kind, server, 100):
            pass
        time.sleep(1)
        before = server.resident()
        with sides.fleet(kind, server, bench.devices):
            # A connection counts as idle if it was silent at two checks, which are a second apart.
            time.sleep(3)
            each = (server.resident() - before) / bench.devices / 1024
        time.sleep(3)
        return each, before, server.resident()
