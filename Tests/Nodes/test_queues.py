"""Tests the senders to queues of script/cluster: python3 -m unittest discover Tests/Nodes"""

import asyncio
import collections
import unittest

from history import History
from queues import Queue

MAILBOX = ("phone", "server")


class FakeDevice:
    def __init__(self):
        self.history, self.received, self.waited = History(), collections.Counter(), []
        self.history.queue(MAILBOX)

    def arrives(self, identifier):
        self.received[identifier] += 1
        self.history.arrived(MAILBOX, identifier, "phone", 0)

    async def wait(self, identifier, seconds):
        self.waited.append(identifier)
        if not self.received[identifier]:
            raise asyncio.TimeoutError


class FakeConnection:
    def __init__(self):
        self.ended = asyncio.Event()

    def close(self):
        self.ended.set()


class FakeSender:
    """Gives these answers. What is accepted arrives, unless it is one of those that wait, by their number."""

    def __init__(self, device, statuses, waiting=()):
        self.device, self.statuses, self.waiting, self.sent, self.connections = device, statuses, waiting, [], []

    async def send(self, connection, identifier, seconds):
        status = self.statuses[len(self.sent)]
        if status == 201 and len(self.sent) not in self.waiting:
            self.device.arrives(identifier)
        self.sent.append(identifier)
        self.connections.append(connection)
        return status


class FakeQueue(Queue):
    async def connect(self):
        return FakeConnection()


class QueueTests(unittest.IsolatedAsyncioTestCase):
    async def sent(self, statuses, waiting=(), window=3):
        device = FakeDevice()
        sender = FakeSender(device, statuses, waiting)
        queue = FakeQueue(device, MAILBOX, sender, None, window, 1)
        for _ in statuses:
            await queue.make_room(window)
            await queue.send()
        return queue, sender, device

    async def test_it_sends_one_after_the_other(self):
        queue, sender, device = await self.sent([201, 201, 201])
        await queue.make_room(1)
        self.assertEqual((queue.accepted, device.waited), (sender.sent, []))
        self.assertEqual(device.history.check(is_over=True), [])
        self.assertEqual(len(set(sender.connections)), 1)

    async def test_one_that_was_accepted_and_never_arrives_is_lost(self):
        queue, sender, device = await self.sent([201, 201, 201, 201], waiting=[0])
        # The fourth one would not have had room.
        self.assertEqual(device.waited, sender.sent[:1])
        self.assertEqual([fault.split(":")[0] for fault in device.history.check()], ["lost"])

    async def test_fewer_than_the_window_wait(self):
        queue, sender, device = await self.sent([201, 201], waiting=[0, 1])
        self.assertEqual(device.waited, [])
        for identifier in sender.sent:
            device.arrives(identifier)
        await queue.make_room(1)
        self.assertEqual((len(queue.open), device.history.check(is_over=True)), (0, []))

    async def test_one_that_was_not_accepted_need_not_arrive(self):
        queue, sender, device = await self.sent([503, None, 201])
        await queue.make_room(1)
        self.assertEqual((device.waited, queue.accepted), ([], sender.sent[2:]))
        self.assertEqual(queue.answers, {503: 1, None: 1, 201: 1})
        self.assertEqual(device.history.check(is_over=True), [])

    async def test_after_no_answer_it_sends_through_another_connection(self):
        _, sender, _ = await self.sent([201, None, 201, 503, 201])
        first, second, third, *rest = sender.connections
        self.assertTrue(first is second and first.ended.is_set() and third is not first)
        self.assertEqual(set(rest), {third})


if __name__ == "__main__":
    unittest.main()
