"""A sender that keeps the nodes of a cluster under load while script/cluster disturbs them."""

import asyncio
import collections
import random
import time
import uuid

from device import LOST


class Load:
    """Sends all the time, at a constant rate. Each device gets its next notification when the one before has ended, because a
    mailbox has only the newest. So every notification that is answered with 200 has to arrive."""

    CONNECTIONS = 4
    # How many requests wait for a connection's answers before another connection is preferred.
    PER_CONNECTION = 32

    def __init__(self, devices, provider, balanced, rate, patience, history=None):
        self.history = history
        self.devices, self.provider, self.balanced = devices, provider, balanced
        self.rate, self.patience = rate, patience
        self.free = list(devices)
        # For each connection, the number of requests without an answer.
        self.connections = {}
        # Those that were not answered. They may be stored all the same, and later, in place of one that was answered.
        self.unanswered = collections.defaultdict(set)
        # What was answered, by status. None counts requests whose connection ended first.
        self.answers = collections.Counter()
        self.arrived, self.replaced, self.failures = 0, 0, []
        # The accepted ones until they are counted, and how often they came again.
        self.accepted, self.duplicates = {}, collections.Counter()
        self.tasks, self.isStopping = set(), False

    def start(self):
        self.running = asyncio.create_task(self.run())

    async def run(self):
        due = time.monotonic()
        while not self.isStopping:
            # After a delay of the machine, the load does not come all at once.
            due = max(due + 1 / self.rate, time.monotonic() - 0.1)
            await asyncio.sleep(max(0, due - time.monotonic()))
            if self.free:
                device = self.free.pop(random.randrange(len(self.free)))
                task = asyncio.create_task(self.send(device))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)

    async def connection(self):
        """The connection with the fewest open requests; opens one if there are few, or if all are slow."""
        self.connections = {each: count for each, count in self.connections.items() if not each.ended.is_set()}
        slow = sum(count >= self.PER_CONNECTION for count in self.connections.values())
        if len(self.connections) - slow < self.CONNECTIONS:
            try:
                made = await self.provider.connect(self.balanced)
                self.connections[made] = 0
            except LOST:
                # All nodes may be down.
                await asyncio.sleep(0.1)
        if not self.connections:
            return None
        return min(self.connections, key=self.connections.get)

    async def send(self, device):
        identifier = str(uuid.uuid4())
        connection, status = await self.connection(), None
        if connection:
            self.connections[connection] = self.connections.get(connection, 0) + 1
            before = {other: device.received[other] for other in self.unanswered[device]}
            if self.history:
                self.history.sent(device.mailbox(), identifier)
            status = await self.provider.send(connection, device.token, identifier, self.patience)
            if self.history:
                self.history.answered(device.mailbox(), identifier, status)
            if connection in self.connections:
                self.connections[connection] -= 1
            self.answers[status] += 1
            if status == 200:
                await self.must_arrive(device, identifier, before)
                if self.history:
                    self.history.settled(device.mailbox(), identifier)
            elif status is None:
                self.unanswered[device].add(identifier)
        self.free.append(device)

    async def must_arrive(self, device, identifier, before):
        """Waits until it arrives, or one without an answer that had come `before` less often."""
        self.accepted[identifier] = device
        try:
            await device.wait(identifier, self.patience)
            self.arrived += 1
        except asyncio.TimeoutError:
            # Another one may have been stored later.
            if any(device.received[other] > count for other, count in before.items()):
                self.replaced += 1
            else:
                self.failures.append(identifier)

    def check(self, what):
        if self.failures:
            raise SystemExit(
                f"script/cluster: {', '.join(self.failures)} of the load were answered with 200 and never arrived ({what})")

    def count_duplicates(self, kind):
        """Returns the notifications that have come again since the last count."""
        found = []
        for identifier, device in list(self.accepted.items()):
            if device.duplicates(identifier):
                found.append(identifier)
                del self.accepted[identifier]
        self.duplicates[kind] += len(found)
        return found

    async def stop(self):
        """Ends the sending, and waits for what was sent."""
        self.isStopping = True
        await self.running
        await asyncio.gather(*self.tasks)
        for connection in self.connections:
            connection.close()
