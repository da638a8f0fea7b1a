"""Tests the checker of script/cluster, which must find each kind of defect: python3 -m unittest discover Tests/Nodes"""

import unittest

from history import History


class HistoryTests(unittest.TestCase):
    def history(self, *events, defect=None, is_queue=False):
        """Makes a history of one mailbox: s1 sends 1, a1 answers it with 200, n1 gives no answer, r1 refuses it, u1 is a 503, d1
        delivers it on the first stream and e1 on the second, g1 gives it up at a node that is stopped, k1 says that its node has read
        it, w1 that the sender has waited for it, t1 that it was sent when everything had its answer and was answered with 200, f1 that
        it was refused then, x is the end of the first stream, and z the removal of the app."""
        history = History(defect)
        if is_queue:
            history.queue("box")
        for event in events:
            kind, number = event[0], event[1:]
            if kind == "s":
                history.sent("box", number)
            elif kind in "anru":
                history.answered("box", number, {"a": 200, "n": None, "r": 410, "u": 503}[kind])
            elif kind in "de":
                history.arrived("box", number, "phone", "de".index(kind))
            elif kind == "g":
                history.given_up("box", number)
            elif kind == "k":
                history.read("box", number)
            elif kind in "tf":
                history.turn("box", number, 200 if kind == "t" else 503)
            elif kind == "w":
                history.settled("box", number)
            elif kind == "x":
                history.silence("phone", 0)
            else:
                history.removed("box")
        return history

    def kinds(self, *events, is_over=True, **more):
        return [fault.split(":")[0] for fault in self.history(*events, **more).check(is_over)]

    def test_what_was_accepted_arrives(self):
        self.assertEqual(self.kinds("s1", "d1", "a1", "s2", "a2", "d2"), [])
        self.assertEqual(self.kinds("s1", "a1", "d1", "d1"), [])

    def test_one_that_never_arrives_is_lost(self):
        self.assertEqual(self.kinds("s1", "a1"), ["lost"])
        self.assertEqual(self.kinds("s1", "d1", "a1", "s2", "a2"), ["lost"])
        # It may still be on its way.
        self.assertEqual(self.kinds("s1", "a1", is_over=False), [])

    def test_one_that_was_not_accepted_need_not_arrive(self):
        self.assertEqual(self.kinds("s1", "u1", "s2", "n2"), [])

    def test_a_newer_one_replaces_it(self):
        self.assertEqual(self.kinds("s1", "a1", "s2", "a2", "d2"), [])
        # It need not be accepted.
        self.assertEqual(self.kinds("s1", "a1", "s2", "u2", "d2"), [])

    def test_two_at_the_same_time_have_no_order(self):
        self.assertEqual(self.kinds("s1", "s2", "a2", "a1", "d1"), [])
        self.assertEqual(self.kinds("s1", "s2", "a2", "a1", "d2"), [])

    def test_one_without_an_answer_may_be_stored_later(self):
        self.assertEqual(self.kinds("s1", "n1", "s2", "a2", "d1"), [])

    def test_one_that_had_arrived_replaces_nothing_newer(self):
        """The first store of 1 was in doubt. It was delivered, and then stored again in place of 2."""
        self.assertEqual(self.kinds("s1", "d1", "s2", "a2", "a1", "d1"), ["lost"])
        self.assertEqual(self.kinds("s1", "d1", "n1", "s2", "a2", "d1"), ["lost"])

    def test_one_that_had_its_answer_replaces_nothing_newer(self):
        self.assertEqual(self.kinds("s1", "a1", "s2", "a2", "d1"), ["lost"])
        self.assertEqual(self.kinds("s1", "u1", "s2", "a2", "d1"), ["lost"])

    def test_one_that_was_given_up_at_a_stopped_node_replaces_nothing_newer(self):
        """The node goes on, and stores 1 in place of 2."""
        self.assertEqual(self.kinds("s1", "g1", "s2", "a2", "a1", "d1"), ["lost"])
        self.assertEqual(self.kinds("s1", "g1", "s2", "a2", "n1", "d1"), ["lost"])
        # The node refuses it, or stored it before it was stopped.
        self.assertEqual(self.kinds("s1", "g1", "s2", "a2", "u1", "d2"), [])
        self.assertEqual(self.kinds("s1", "g1", "d1", "s2", "a2", "d2"), [])
        # It may replace what was sent before.
        self.assertEqual(self.kinds("s1", "s2", "a2", "g1", "n1", "d1"), [])

    def test_one_that_its_node_had_read_replaces_nothing_newer(self):
        """The statement of 1 was late on its way, and stored 1 in place of 2."""
        self.assertEqual(self.kinds("s1", "k1", "s2", "a2", "a1", "d1"), ["lost"])
        self.assertEqual(self.kinds("s1", "k1", "s2", "a2", "n1", "d1"), ["lost"])
        # It was refused, or stored before.
        self.assertEqual(self.kinds("s1", "k1", "s2", "a2", "u1", "d2"), [])
        self.assertEqual(self.kinds("s1", "k1", "d1", "s2", "a2", "d2"), [])
        # It may replace what was sent before it was read.
        self.assertEqual(self.kinds("s1", "s2", "a2", "k1", "a1", "d1"), [])

    def test_what_is_sent_when_everything_has_its_answer_is_not_refused(self):
        self.assertEqual(self.kinds("s1", "a1", "t1", "s2", "a2", "t2", "d2"), [])
        self.assertEqual(self.kinds("s1", "a1", "t1", "s2", "u2", "f2", "d1"), ["turn"])

    def test_one_that_was_waited_for_in_vain_is_lost_whatever_comes_later(self):
        self.assertEqual(self.kinds("s1", "a1", "w1", "s2", "d2", "a2"), ["lost"])
        self.assertEqual(self.kinds("s1", "a1", "d1", "w1"), [])

    def test_what_was_in_the_mailbox_of_a_removed_app_need_not_arrive(self):
        self.assertEqual(self.kinds("s1", "a1", "z"), [])
        self.assertEqual(self.kinds("s1", "a1", "z", "s2", "a2"), ["lost"])

    def test_what_was_refused_must_not_arrive(self):
        self.assertEqual(self.kinds("s1", "r1"), [])
        self.assertEqual(self.kinds("s1", "r1", "d1"), ["refused"])

    def test_nothing_arrives_on_a_stream_that_is_over(self):
        self.assertEqual(self.kinds("s1", "a1", "d1", "x", "e1"), [])
        self.assertEqual(self.kinds("s1", "a1", "x", "d1"), ["stale"])

    def test_nothing_arrives_that_was_not_sent(self):
        self.assertEqual(self.kinds("d1"), ["unknown"])

    def test_in_a_queue_nothing_takes_the_place_of_another(self):
        events = ["s1", "a1", "s2", "n2", "s3", "a3", "d2", "d3"]
        self.assertEqual(self.kinds(*events), [])
        self.assertEqual(self.kinds(*events, is_queue=True), ["lost"])
        self.assertEqual(self.kinds(*events, is_queue=True, is_over=False), [])
        self.assertEqual(self.kinds("s1", "a1", "d1", "s2", "n2", "s3", "u3", is_queue=True), [])

    def test_what_a_queue_has_accepted_arrives_in_its_order(self):
        sent = ["s1", "a1", "s2", "a2", "s3", "n3", "s4", "a4"]
        self.assertEqual(self.kinds(*sent, "d1", "d2", "d1", "d4", "d3", "e1", is_queue=True), [])
        self.assertEqual(self.kinds(*sent, "d2", "d1", "d4", is_queue=True), ["order"])
        self.assertEqual(self.kinds(*sent, "d4", "d1", "d2", is_queue=True, is_over=False), ["order"])

    def test_a_later_one_may_come_first_only_while_something_is_wrong(self):
        for is_disturbed in (True, False):
            history = History()
            history.queue("queue")
            history.disturbed()
            history.calm()
            for identifier in ("one", "two"):
                history.sent("queue", identifier)
                history.answered("queue", identifier, 201)
            if is_disturbed:
                history.disturbed()
            history.arrived("queue", "two", "device", 1)
            history.arrived("queue", "one", "device", 1)
            self.assertEqual([fault.split(":")[0] for fault in history.check()], [] if is_disturbed else ["order"])

    def test_the_sender_of_a_queue_is_not_told_that_it_is_gone(self):
        self.assertEqual(self.kinds("s1", "r1", is_queue=True), ["gone"])
        self.assertEqual(self.kinds("s1", "u1", is_queue=True), [])

    def test_each_planted_defect_of_a_queue_is_found(self):
        events = [event for number in range(1, 8) for event in (f"s{number}", f"a{number}", f"d{number}")]
        self.assertEqual(self.kinds(*events, is_queue=True), [])
        for defect, kind in {"missing": "lost", "swapped": "order", "forgotten": "gone"}.items():
            with self.subTest(defect):
                self.assertEqual(self.kinds(*events, is_queue=True, defect=defect), [kind])
                # It comes again, which helps nobody.
                self.assertEqual(self.kinds(*events, "e7", "e4", is_queue=True, defect=defect), [kind])
                self.assertEqual(self.kinds(*events, defect=defect), [])
        self.assertEqual(History.QUEUE_DEFECTS, ["missing", "swapped", "forgotten"])

    def test_each_planted_defect_is_found(self):
        events = [event for number in range(1, 8) for event in (f"s{number}", f"a{number}", f"d{number}", f"w{number}")]
        self.assertEqual(self.kinds(*events), [])
        for defect, kind in {"lost": "lost", "older": "lost", "refused": "refused", "stale": "stale"}.items():
            with self.subTest(defect):
                self.assertEqual(set(self.kinds(*events, defect=defect)), {kind})
        late = ["s1", "k1", "s2", "a2", "u1", "d2", "w2"]
        self.assertEqual(self.kinds(*late), [])
        self.assertEqual(self.kinds(*late, defect="delayed"), ["lost"])
        turns = [event for number in range(1, 8) for event in (f"s{number}", f"a{number}", f"t{number}")]
        self.assertEqual(self.kinds(*turns, "d7"), [])
        self.assertEqual(self.kinds(*turns, "d7", defect="turned"), ["turn"])
        self.assertEqual(
            set(History.DEFECTS) - set(History.QUEUE_DEFECTS), {"lost", "older", "refused", "stale", "delayed", "turned"})

    def test_it_counts(self):
        self.assertEqual(self.history("s1", "a1", "d1", "s2", "n2").counts, (2, 1, 1))


if __name__ == "__main__":
    unittest.main()
