"""Queues in a cluster: subscriptions of Web Push, and an app of which a device keeps more than the newest notification."""

import asyncio
import collections
import json
import random
import urllib.parse
import uuid

from device import LOST, Connection, Provider, context

KEPT = "com.example.orders"
# How many notifications of this app a device keeps.
KEEP = 20


class WebPush:
    """The application server of one subscription (RFC 8030)."""

    def __init__(self, authority, endpoint):
        self.tls, self.path = context(authority), urllib.parse.urlsplit(endpoint).path

    async def send(self, connection, identifier, seconds):
        """Returns the status, or None if there is no answer in time. The body is plain, so that the device reads it."""
        return await Provider.status(
            connection.request("POST", self.path, identifier.encode(), ("ttl", "3600"), ("urgency", "high")), seconds)


class KeptApp:
    """The provider of the app, for one device."""

    def __init__(self, provider, token):
        self.provider, self.token, self.tls = provider, token, provider.tls

    async def send(self, connection, identifier, seconds):
        return await self.provider.send(connection, self.token, identifier, seconds)


class Queue:
    """One queue with its only sender, which sends the next message when it has the answer to the one before, or has given that up."""

    # How long to wait for a node's answer. One that is cut off or stopped gives none.
    TIMEOUT = 5
    # So many are sent at once, and then none for so many seconds, at most.
    BURST, REST = 8, 4

    def __init__(self, device, mailbox, sender, address, window, patience):
        self.device, self.mailbox, self.sender, self.address = device, mailbox, sender, address
        # So many may wait in the queue. The service takes the oldest away if there are more than it keeps.
        self.window, self.patience = window, patience
        self.connection = None
        # What may wait: the identifiers that were sent since the oldest accepted one that has not arrived, and whether each was accepted.
        self.open = collections.OrderedDict()
        self.answers, self.accepted = collections.Counter(), []

    async def run(self, is_over):
        while not is_over():
            for _ in range(random.randint(1, self.BURST)):
                await self.make_room(self.window)
                await self.send()
            await asyncio.sleep(random.uniform(0, self.REST))
        await self.make_room(1)
        self.leave()

    async def connect(self):
        return await Connection.open(self.address, self.sender.tls)

    async def send(self):
        identifier, history = str(uuid.uuid4()), self.device.history
        if self.connection is None or self.connection.ended.is_set():
            try:
                self.connection = await asyncio.wait_for(self.connect(), self.TIMEOUT)
            except (*LOST, asyncio.TimeoutError):
                # All nodes may be down.
                return await asyncio.sleep(0.1)
        history.sent(self.mailbox, identifier)
        status = await self.sender.send(self.connection, identifier, self.TIMEOUT)
        history.answered(self.mailbox, identifier, status)
        self.answers[status] += 1
        is_accepted = status in (200, 201)
        self.open[identifier] = is_accepted
        if is_accepted:
            self.accepted.append(identifier)
        elif status is None:
            # The next one goes through another node.
            self.leave()
        else:
            await asyncio.sleep(0.1)

    async def make_room(self, window):
        """Waits until fewer than `window` may be in the queue, and tells the history if an accepted one does not arrive."""
        while True:
            while self.open and (not self.open[first := next(iter(self.open))] or self.device.received[first]):
                del self.open[first]
            if len(self.open) < window:
                return
            try:
                await self.device.wait(first, self.patience)
            except asyncio.TimeoutError:
                self.device.history.settled(self.mailbox, first)
                return

    def leave(self):
        if self.connection:
            self.connection.close()
            self.connection = None


class Queues:
    """Devices that come and go, each with a few queues, to which messages are sent all the time."""

    SUBSCRIPTIONS = 2
    # A subscription keeps 100.
    WINDOW = 40
    KEPT_WINDOW = KEEP // 2
    # The longest that a device is here, and is away, in seconds.
    HERE, AWAY = 6, 5

    def __init__(self, devices, authority, provider, patience, providers, pushers):
        """`providers` and `pushers` are the addresses of the nodes for providers and for Web Push."""
        self.devices, self.authority, self.provider, self.patience = devices, authority, provider, patience
        self.providers, self.pushers = providers, pushers
        self.queues, self.is_stopping, self.counted = [], False, collections.Counter()
        self.duplicates = collections.Counter()

    async def start(self):
        for device in self.devices:
            for number in range(self.SUBSCRIPTIONS):
                name = f"server {number}"
                path = f"/1/apps/{device.app}/subscriptions/{urllib.parse.quote(name)}"
                answer = await device.ask("PUT", path, b'{"plain":true}')
                self.add(device, name, WebPush(self.authority, json.loads(answer)["endpoint"]), self.pushers, self.WINDOW)
            token = json.loads(await device.ask("PUT", f"/1/apps/{KEPT}"))["token"]
            self.add(device, KEPT, KeptApp(self.provider, token), self.providers, self.KEPT_WINDOW)
        self.sending = [asyncio.create_task(queue.run(lambda: self.is_stopping)) for queue in self.queues]
        self.moving = [asyncio.create_task(self.come_and_go(device)) for device in self.devices]

    def add(self, device, place, sender, address, window):
        mailbox = device.mailbox(place)
        device.history.queue(mailbox)
        self.queues.append(Queue(device, mailbox, sender, address, window, self.patience))

    async def come_and_go(self, device):
        while not self.is_stopping:
            await asyncio.sleep(random.uniform(0, self.HERE))
            await device.leave()
            await asyncio.sleep(random.uniform(0, self.AWAY))
            device.come_back()

    def count_duplicates(self, kind):
        """Counts the messages that have come again since the last count."""
        for queue in self.queues:
            for identifier in queue.accepted:
                extra = queue.device.duplicates(identifier) - self.counted[identifier]
                self.counted[identifier] += extra
                self.duplicates[kind] += extra

    async def stop(self):
        """Ends the sending, and waits for what was accepted."""
        self.is_stopping = True
        await asyncio.gather(*self.moving, *self.sending)

    @property
    def answers(self):
        return sum((queue.answers for queue in self.queues), collections.Counter())

    @property
    def accepted(self):
        return sum(len(queue.accepted) for queue in self.queues)
