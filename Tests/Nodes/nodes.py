"""Nodes of a cluster, a TCP load balancer before them, and proxies that cut them off."""

import asyncio
import collections
import json
import random
import socket
import subprocess


class Wire:
    """A proxy that can stop, in one direction or in both: it then passes nothing on, and closes nothing."""

    # The directions: to what the wire leads to, and back from it.
    WAYS = ("there", "back")

    def __init__(self, connect):
        self.connect = connect
        self.open = {way: asyncio.Event() for way in self.WAYS}
        self.go_on()

    def stop(self, *ways):
        """Without a direction, both stop."""
        for way in ways or self.WAYS:
            self.open[way].clear()

    def go_on(self):
        for event in self.open.values():
            event.set()

    async def accept(self, reader, writer):
        try:
            there = await self.connect()
        except OSError:
            return writer.close()
        await asyncio.wait(
            [
                asyncio.create_task(self.copy("there", reader, there[1])),
                asyncio.create_task(self.copy("back", there[0], writer)),
            ], return_when=asyncio.FIRST_COMPLETED)
        there[1].close()
        writer.close()

    async def copy(self, way, reader, writer):
        try:
            while data := await reader.read(65536):
                await self.open[way].wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            pass


class Node:
    # With an origin of its own, since an endpoint is that of all nodes.
    WEB_PUSH = ("--web-push", "127.0.0.1:0", "--web-push-url", "https://push.example.com")

    def __init__(self, program, name, folder, database, key, has_web_push=True):
        self.program, self.name, self.data, self.folder = program, name, folder / name, folder
        self.has_web_push = has_web_push
        self.database, self.key = database, key
        self.addresses = {}
        # Its ways to both servers of the database, and the way of the other nodes to it.
        self.stores = [
            Wire(lambda name=name: asyncio.open_unix_connection(database.folder / name / ".s.PGSQL.5432"))
            for name in "ab"
        ]
        self.peer_port = 0
        self.peer = Wire(lambda: asyncio.open_connection("127.0.0.1", self.peer_port))

    async def listen(self):
        hosts = []
        for number, wire in enumerate(self.stores):
            place = self.folder / f"{self.name}-{number}"
            place.mkdir()
            await asyncio.start_unix_server(wire.accept, place / ".s.PGSQL.5432")
            hosts.append(str(place))
        server = await asyncio.start_server(self.peer.accept, "127.0.0.1", 0)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.peer_port = free.getsockname()[1]
        self.arguments = [
            "serve", "--json", "--data", self.data, "--node-name", self.name, "--ports", "ephemeral",
            "--peer", f"127.0.0.1:{self.peer_port}", "--peer-address",
            "127.0.0.1:%d" % server.sockets[0].getsockname()[1], "--store",
            f"postgresql:///postgres?host={','.join(hosts)}&user=carillon&target_session_attrs=read-write",
            "--store-key-file", self.key, "--log-level", "error",
            *(self.WEB_PUSH if self.has_web_push else ()),
        ]

    def wires(self):
        return [*self.stores, self.peer]

    async def start(self):
        while True:
            self.process = await asyncio.create_subprocess_exec(self.program, *self.arguments, stdout=subprocess.PIPE)
            line = await self.process.stdout.readline()
            if line:
                break
            # PostgreSQL may still be starting.
            await self.process.wait()
            await asyncio.sleep(0.2)
        ready = json.loads(line)
        for kind in ("provider", "courier", "webPush"):
            # An earlier release has no Web Push. Of that, the address is a URL.
            if address := ready["development"].get(kind):
                host, port = address.removeprefix("https://").rsplit(":", 1)
                self.addresses[kind] = (host, int(port))

    async def kill(self):
        self.addresses = {}
        self.process.kill()
        await self.process.wait()

    async def stop(self):
        self.addresses = {}
        self.process.terminate()
        await self.process.wait()


class Balancer:
    """Passes TCP connections on to nodes that accept them."""

    def __init__(self, nodes, kind):
        self.nodes, self.kind = nodes, kind
        self.clients = collections.defaultdict(set)
        self.down = set()

    def set_down(self, node):
        """Sends a node no more clients. Returns the ports of those that it has, whose connections stay open."""
        self.down.add(node)
        return {writer.get_extra_info("peername")[1] for writer in self.clients[node]}

    def end_clients(self, node):
        """Ends the clients' connections to a node. The node does not learn of it while it is down."""
        for writer in self.clients[node]:
            writer.close()

    async def listen(self):
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        self.at = self.server.sockets[0].getsockname()[:2]
        self.address = "%s:%d" % self.at

    async def accept(self, reader, writer):
        for node in random.sample(self.nodes, len(self.nodes)):
            if self.kind not in node.addresses or node in self.down:
                continue
            try:
                there = await asyncio.open_connection(*node.addresses[self.kind])
            except OSError:
                continue
            self.clients[node].add(writer)
            await asyncio.wait(
                [asyncio.create_task(self.copy(reader, there[1])), asyncio.create_task(self.copy(there[0], writer))],
                return_when=asyncio.FIRST_COMPLETED)
            self.clients[node].discard(writer)
            while node in self.down:
                await asyncio.sleep(0.1)
            there[1].close()
            break
        writer.close()

    @staticmethod
    async def copy(reader, writer):
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
