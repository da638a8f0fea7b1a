"""Tests the proxies of script/cluster, which have to stop in one direction only: python3 -m unittest discover Tests/Nodes"""

import asyncio
import unittest

from nodes import Wire


class WireTests(unittest.IsolatedAsyncioTestCase):
    # Longer than data takes on this machine. It decides only how well a defect is found.
    SILENCE = 0.05
    PATIENCE = 60

    async def asyncSetUp(self):
        """A client, a wire, and a server at its end that answers what it has got."""
        self.got = asyncio.Queue()
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        port = self.server.sockets[0].getsockname()[1]
        self.wire = Wire(lambda: asyncio.open_connection("127.0.0.1", port))
        self.proxy = await asyncio.start_server(self.wire.accept, "127.0.0.1", 0)
        self.reader, self.writer = await asyncio.open_connection(*self.proxy.sockets[0].getsockname())

    async def asyncTearDown(self):
        self.wire.go_on()
        self.writer.close()
        self.proxy.close()
        self.server.close()
        # What serves the connections ends with them. Python 3.11 prints the error of each that it has to cancel.
        if tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            _, pending = await asyncio.wait(tasks, timeout=self.PATIENCE)
            self.assertFalse(pending)

    async def serve(self, reader, writer):
        while data := await reader.read(100):
            self.got.put_nowait(data)
            writer.write(data)
        writer.close()

    async def arrives(self, data):
        self.assertEqual(await asyncio.wait_for(self.got.get(), self.PATIENCE), data)

    async def comes_back(self, data):
        self.assertEqual(await asyncio.wait_for(self.reader.readexactly(len(data)), self.PATIENCE), data)

    async def is_silent(self, something):
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(something, self.SILENCE)

    async def test_it_passes_everything_on(self):
        self.writer.write(b"a")
        await self.arrives(b"a")
        await self.comes_back(b"a")

    async def test_only_the_way_back_stalls(self):
        self.wire.stop("back")
        self.writer.write(b"a")
        await self.arrives(b"a")
        await self.is_silent(self.reader.read(1))
        self.wire.go_on()
        await self.comes_back(b"a")

    async def test_only_the_way_there_stalls(self):
        self.writer.write(b"a")
        await self.arrives(b"a")
        self.wire.stop("there")
        self.writer.write(b"b")
        await self.comes_back(b"a")
        await self.is_silent(self.got.get())
        self.wire.go_on()
        await self.arrives(b"b")
        await self.comes_back(b"b")

    async def test_both_ways_stall_and_nothing_is_closed(self):
        self.wire.stop()
        self.writer.write(b"a")
        await self.is_silent(self.got.get())
        self.wire.go_on()
        await self.arrives(b"a")
        await self.comes_back(b"a")


if __name__ == "__main__":
    unittest.main()
