"""Tests the device of script/cluster, which must count what the client library hides: python3 -m unittest discover Tests/Nodes"""

import asyncio
import json
import unittest
import unittest.mock

import device
from device import Connection, Device, joined


class Written:
    """A connection that keeps what was written."""

    def __init__(self):
        self.acknowledged, self.isClosed, self.ended = [], False, asyncio.Event()
        self.asked = []

    def acknowledge(self, sending):
        self.acknowledged.append(sending)

    async def request(self, method, path, body):
        self.asked.append(json.loads(body))

    def close(self):
        self.isClosed = True


def line(sending, identifier="A"):
    return {"sending": sending, "id": identifier}


class StatusTests(unittest.TestCase):
    def test_statuses_are_told_apart(self):
        for block, expected in [
            (b"\x88", 200), (b"\x8c\x0f\x01\x01a", 400), (b"\x20\x88", 200), (b"\x48\x03429", 429), (b"\x08\x03503\x5f", 503),
            (b"\x18\x03410", 410), (b"\x4e\x03503", 503),
            # With Huffman code: 011010 00010 011111, and 011011 00000 011001.
            (b"\x48\x83" + int("0110100001001111" + "11111111", 2).to_bytes(3, "big"), 429),
            (b"\x08\x83" + int("0110110000001100" + "11111111", 2).to_bytes(3, "big"), 503),
            (b"", -1), (b"\xbe", -1), (b"\x40\x01a\x01b", -1), (b"\x48", -1), (b"\x48\x03abc", -1),
        ]:
            self.assertEqual(device.status(block), expected, block)


class DeviceTests(unittest.IsolatedAsyncioTestCase):
    def make(self):
        made = Device.__new__(Device)
        made.received, made.asked_again = device.collections.Counter(), device.collections.Counter()
        made.broadcasts = device.collections.defaultdict(list)
        made.stale, made.stale_lines, made.is_silence_due = [], [], False
        made.withhold, made.refused_acknowledgements = False, 0
        made.arrived = asyncio.Condition()
        return made

    async def test_a_notification_that_comes_twice_is_counted_twice(self):
        made, connection = self.make(), Written()
        for sending in (1, 2):
            made.line_arrived(connection, line(sending))
        self.assertEqual((made.received["a"], made.duplicates("a"), connection.acknowledged), (2, 1, [1, 2]))

    async def test_a_broadcast_that_never_comes_is_missed(self):
        made = self.make()
        made.line_arrived(Written(), line(1, "A") | {"channel": "other"})
        made.line_arrived(Written(), line(2, "B") | {"channel": "c"})
        with self.assertRaises(asyncio.TimeoutError):
            await made.wait_for_broadcast("c", "d", 1, set(), 0.01)

    async def test_only_an_unanswered_broadcast_that_came_later_replaces_another(self):
        made = self.make()
        made.line_arrived(Written(), line(1, "A") | {"channel": "c"})
        with self.assertRaises(asyncio.TimeoutError):
            await made.wait_for_broadcast("c", "d", 1, {"a"}, 0.01)
        made.line_arrived(Written(), line(2, "B") | {"channel": "c"})
        self.assertTrue(await made.wait_for_broadcast("c", "d", 1, {"b"}, 1))
        made.line_arrived(Written(), line(3, "D") | {"channel": "c"})
        self.assertFalse(await made.wait_for_broadcast("c", "d", 1, {"b"}, 1))

    async def test_a_broadcast_is_not_withheld(self):
        made, connection = self.make(), Written()
        made.stale.append(Written())
        made.withhold = True
        made.line_arrived(connection, line(1, "A") | {"channel": "c"})
        self.assertEqual((made.withhold, connection.acknowledged), (True, [1]))

    async def test_the_last_line_of_a_stream_is_no_notification(self):
        made = self.make()
        made.line_arrived(Written(), {"end": "takenOver"})
        self.assertEqual(made.received.total(), 0)

    async def test_what_comes_on_a_stream_that_was_left_counts_once_silence_is_due(self):
        made, left = self.make(), Written()
        made.stale.append(left)
        made.line_arrived(left, line(1))
        self.assertEqual(made.stale_lines, [])
        made.expect_silence()
        made.line_arrived(Written(), line(2, "B"))
        made.line_arrived(left, line(3))
        self.assertEqual(made.stale_lines, ["a"])

    async def test_an_acknowledgement_on_a_stream_that_was_left_must_have_no_effect(self):
        made, left, live = self.make(), Written(), Written()
        made.stale.append(left)
        made.withhold = True
        made.line_arrived(live, line(1))
        await asyncio.sleep(0)
        self.assertEqual((live.acknowledged, live.isClosed, left.asked), ([], True, [{"sendings": [1]}]))
        # Once is not enough: it has to come again.
        with self.assertRaises(asyncio.TimeoutError):
            await made.wait("a", 0)
        made.line_arrived(Written(), line(2))
        await made.wait("a", 1)
        self.assertEqual((made.duplicates("a"), made.refused_acknowledgements), (0, 1))

    async def test_one_that_has_left_stays_away_until_it_comes_back(self):
        opened = asyncio.Queue()

        class Made(Written):
            def __init__(self):
                super().__init__()
                self.stream_ended = asyncio.Event()

            def listen(self):
                opened.put_nowait(self)

            def close(self):
                self.stream_ended.set()

        async def open_one(*_):
            return Made()

        made = self.make()
        made.tls = made.address = made.connection = None
        made.token, made.app, made.epoch, made.fled, made.is_here = "token", "app", 0, asyncio.Event(), asyncio.Event()
        made.is_here.set()
        with unittest.mock.patch.object(Connection, "open", open_one):
            running = asyncio.create_task(made.run())
            first = await opened.get()
            await made.leave()
            self.assertTrue(first.stream_ended.is_set())
            # Longer than its pause before it connects again.
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(opened.get(), 0.2)
            made.come_back()
            self.assertIsNot(await opened.get(), first)
            self.assertEqual(made.epoch, 2)
            running.cancel()

    async def test_a_message_of_web_push_is_known_by_what_it_says(self):
        made, told = self.make(), []
        made.history, made.name, made.app = unittest.mock.Mock(arrived=lambda *event: told.append(event)), "phone", "app"
        connection = Written()
        connection.epoch = 1
        made.line_arrived(connection, line(1) | {"subscription": "server", "topic": "app", "webPush": {"body": "VGV4dA"}})
        made.line_arrived(connection, line(2) | {"topic": "other"})
        made.line_arrived(connection, line(3) | {"topic": "app"})
        self.assertEqual(told, [
            (("phone", "server"), "Text", "phone", 1), (("phone", "other"), "a", "phone", 1), (("phone", "app"), "a", "phone", 1)])

    async def test_lines_are_put_together_from_frames(self):
        connection, seen = Connection(), []
        connection.listening, connection.unread, connection.answers = 1, b"", {}
        connection.line_arrived = lambda _, text: seen.append(text)
        for part in (b'{"a"', b':1}\n\n{"b":', b"2}\n"):
            connection.received(device.DATA, 0, 1, part)
        self.assertEqual(seen, [{"a": 1}, {"b": 2}])


class SignatureTests(unittest.TestCase):
    def test_numbers_have_32_bytes_whatever_der_makes_of_them(self):
        # A number with a leading zero, and a short one.
        der = bytes([0x30, 0x26, 0x02, 0x21, 0x00]) + b"\xff" * 32 + bytes([0x02, 0x01, 0x07])
        self.assertEqual(joined(der), b"\xff" * 32 + b"\x00" * 31 + b"\x07")


if __name__ == "__main__":
    unittest.main()
