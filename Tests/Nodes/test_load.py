"""Tests the load of script/cluster, which must find a notification that is lost: python3 -m unittest discover Tests/Nodes"""

import asyncio
import collections
import unittest

from load import Load


class FakeConnection:
    def __init__(self):
        self.ended = asyncio.Event()

    def close(self):
        self.ended.set()


class FakeDevice:
    def __init__(self):
        self.token, self.received = "token", collections.Counter()

    async def wait(self, identifier, seconds):
        if not self.received[identifier]:
            raise asyncio.TimeoutError

    def duplicates(self, identifier):
        return max(0, self.received[identifier] - 1)


class FakeProvider:
    def __init__(self, device, statuses, arrivals):
        self.device, self.statuses, self.arrivals, self.sent = device, statuses, arrivals, []

    async def connect(self, address):
        return FakeConnection()

    async def send(self, connection, token, identifier, seconds):
        self.sent.append(identifier)
        for number in self.arrivals.pop(0):
            self.device.received[self.sent[number]] += 1
        return self.statuses.pop(0)


class LoadTests(unittest.IsolatedAsyncioTestCase):
    async def sent(self, statuses, arrivals):
        """Sends one notification after the other. Those in `arrivals` arrive during each request, by their number."""
        device = FakeDevice()
        provider = FakeProvider(device, statuses, arrivals)
        load = Load([device], provider, None, 1000, 1)
        for _ in list(statuses):
            await load.send(load.free.pop())
        return load

    async def test_one_that_was_accepted_and_never_arrives_is_found(self):
        load = await self.sent([200, 200], [[0], []])
        self.assertEqual((load.arrived, load.failures), (1, load.provider.sent[1:]))
        with self.assertRaises(SystemExit):
            load.check("a fault")

    async def test_one_that_was_refused_need_not_arrive(self):
        load = await self.sent([503, None, 200], [[], [], [2]])
        load.check("a fault")
        self.assertEqual((load.arrived, load.answers[503], load.answers[None]), (1, 1, 1))

    async def test_one_without_an_answer_may_replace_one_with_an_answer(self):
        load = await self.sent([None, 200], [[], [0]])
        load.check("a fault")
        self.assertEqual((load.arrived, load.replaced), (0, 1))

    async def test_one_without_an_answer_that_had_arrived_replaces_nothing(self):
        load = await self.sent([None, 200], [[0], []])
        self.assertEqual(load.failures, load.provider.sent[1:])

    async def test_one_that_comes_again_is_counted_once(self):
        load = await self.sent([200], [[0, 0]])
        self.assertEqual(load.count_duplicates("kill"), load.provider.sent)
        self.assertEqual(load.count_duplicates("cut"), [])
        self.assertEqual(load.duplicates, {"kill": 1, "cut": 0})

    async def test_it_sends_until_it_is_stopped(self):
        device = FakeDevice()
        provider = FakeProvider(device, [503] * 100_000, [[]] * 100_000)
        load = Load([device], provider, None, 1000, 1)
        load.start()
        while len(provider.sent) < 3:
            await asyncio.sleep(0)
        await load.stop()
        self.assertGreaterEqual(load.answers[503], 3)


if __name__ == "__main__":
    unittest.main()
