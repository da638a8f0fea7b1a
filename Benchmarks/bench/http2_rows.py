"""Measures the two implementations of HTTP/2 that the service has, HTTP2Core and libnghttp2, in turn with each other and with another
server. The bounds are those that HTTP2Core has to meet before it takes libnghttp2's place: docs/decisions/0077-http2-core.md.
`script/bench http2` runs this."""

from contextlib import ExitStack

import peers
from device_rows import FLEET, Sides, idle_memory, settle
from h2load import Load
from provider_rows import NEVER_STORED, PEER_PATH, cpu_of
from results import Result
from service import Service

IMPLEMENTATIONS = {"HTTP2Core": {"CARILLON_HTTP2": "core"}, "libnghttp2": {"CARILLON_HTTP2": "library"}}
PEER = "peer"


class Comparison:
    """One kind of work: each implementation against the other server, and HTTP2Core against libnghttp2."""

    def __init__(self, work, peer, unit, limit=None):
        self.against_peer = {
            name: Result(f"{work}, {name}", peer, unit, limit if name == "HTTP2Core" else None) for name in IMPLEMENTATIONS}
        self.against_library = Result(f"{work}, HTTP2Core", "libnghttp2", unit)

    def add(self, values):
        """Adds the values of one round, by the names of the implementations and `PEER`."""
        for name, result in self.against_peer.items():
            result.add(values[name], values[PEER])
        self.against_library.add(values["HTTP2Core"], values["libnghttp2"])

    @property
    def results(self):
        return [*self.against_peer.values(), self.against_library]


def results(*comparisons):
    return [result for comparison in comparisons for result in comparison.results]


def http2(bench):
    return validated(bench) + delivered(bench) + idle(bench)


def validated(bench):
    """Requests that pass every check and whose device is offline, as in the row of this name."""
    peer = "nghttpd serving a file"
    cpu = Comparison("CPU per validated push", peer, "s/100k", 1.1)
    table = Comparison("CPU per validated push, HPACK's table", peer, "s/100k", 1.3)
    latency = Comparison("its mean latency, one stream at a time", peer, "µs")
    full, single = Load(3 * bench.requests, 8, 100), Load(bench.requests // 20, 1, 1)
    indexed = Load(3 * bench.requests, 8, 100, indexed=True)
    services = {name: bench.offline_service(name) for name in IMPLEMENTATIONS}
    # nghttpd takes any token.
    token = services["HTTP2Core"].provider_token()
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(services[name].serve(event_loops=1, env=env)) for name, env in IMPLEMENTATIONS.items()}
        servers[PEER] = stack.enter_context(peers.nghttpd(bench.tools, bench.work))

        def ask(name, load):
            """Returns the mean time of a request in seconds."""
            if name == PEER:
                return load.run(bench.work, servers[name].port, PEER_PATH, token, NEVER_STORED)
            service = services[name]
            return load.run(bench.work, servers[name].port, service.paths, service.provider_token(), NEVER_STORED)

        def cost(load):
            return {
                name: cpu_of(server, load.requests, lambda: ask(name, load)) for name, server in servers.items()}

        for _ in bench.rounds(warm_up=lambda: cost(full)):
            cpu.add(cost(full))
            table.add(cost(indexed))
            latency.add({name: 1e6 * ask(name, single) for name in servers})
    return results(cpu, table, latency)


def delivered(bench):
    """Pushes to connected devices that acknowledge them, as in the row of this name."""
    peer = "mosquitto, QoS 1, mutual TLS"
    cpu = Comparison("CPU per push delivered and acknowledged", peer, "s/100k", 1.0)
    median = Comparison("its latency at half of full load, median", peer, "ms")
    p99 = Comparison("its latency at half of full load, 99th percentile", peer, "ms")
    sides = {name: Sides(bench, connected_service(bench, name)) for name in IMPLEMENTATIONS}
    sides[PEER] = sides["HTTP2Core"]
    count = bench.requests // 2
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(sides[name].service.serve(event_loops=1, env=env))
            for name, env in IMPLEMENTATIONS.items()}
        servers[PEER] = stack.enter_context(peers.mosquitto(bench.tools, bench.work))
        fleets = {
            name: stack.enter_context(sides[name].fleet(kind(name), server, FLEET)) for name, server in servers.items()}

        def send(name, sent, **options):
            seconds = sides[name].push(kind(name), servers[name], sent, **options)
            return seconds, settle(fleets[name], sent)

        for _ in bench.rounds(warm_up=lambda: [send(name, count // 5) for name in servers]):
            fastest, spent = {}, {}
            for name, server in servers.items():
                def once(name=name):
                    fastest[name] = count / send(name, count)[0]
                spent[name] = cpu_of(server, count, once)
            cpu.add(spent)
            # The same load for all: half of what the slowest can take.
            rate = min(fastest.values()) / 2
            seen = {name: send(name, int(rate * bench.seconds), rate=rate)[1] for name in servers}
            median.add({name: 1e3 * report["median"] for name, report in seen.items()})
            p99.add({name: 1e3 * report["p99"] for name, report in seen.items()})
    return results(cpu, median, p99)


def idle(bench):
    """The memory of idle devices while they are connected, as in the row of this name."""
    memory = Comparison("memory per idle connected device", "mosquitto, mutual TLS", "KB")
    each = {}
    for name, env in IMPLEMENTATIONS.items():
        service = connected_service(bench, name)
        each[name] = idle_memory(bench, Sides(bench, service), "carillon", lambda: service.serve(env=env))[0]
    each[PEER] = idle_memory(bench, Sides(bench, service), "mqtt", lambda: peers.mosquitto(bench.tools, bench.work))[0]
    memory.add(each)
    return memory.results


def kind(name):
    return "mqtt" if name == PEER else "carillon"


def connected_service(bench, name):
    return bench.service(
        f"connected {name}",
        lambda: Service(bench.tools, bench.work, f"connected-{name}", max(FLEET, bench.devices), certificates=True))
