"""Tests that the short form fails if a ratio is far off, and only then: python3 -m unittest discover Benchmarks/bench"""

import unittest

import judgement
from results import Result


class Notes:
    """A bench that measures nothing."""

    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def row(*attempts):
    """A row that gives these ratios, one list for each time that it is measured."""
    remaining = list(attempts)

    def measure(_):
        results = []
        for number, ratio in enumerate(remaining.pop(0)):
            result = Result(f"work {number}", "theirs", "s", limit=1.5, far_off=3.0 if number == 0 else None)
            result.add(ratio, 1)
            results.append(result)
        return results

    measure.remaining = remaining
    return measure


class JudgementTests(unittest.TestCase):
    def test_a_ratio_within_its_bound_is_measured_once(self):
        measure = row([2.9, 99.0], [1.0, 1.0])
        self.assertEqual(judgement.verdict(judgement.measured(measure, Notes())), "")
        self.assertEqual(len(measure.remaining), 1)

    def test_one_that_stays_far_off_fails(self):
        bench = Notes()
        results = judgement.measured(row([9.0, 1.0], [7.0, 1.0], [8.0, 1.0], [1.0, 1.0]), bench)
        self.assertEqual(judgement.verdict(results), "bench: work 0: 7.00 times theirs, far off above 3")
        self.assertEqual(len(bench.notes), 2)

    def test_one_that_was_far_off_once_does_not_fail(self):
        measure = row([9.0, 1.0], [1.4, 5.0], [1.0, 1.0])
        results = judgement.measured(measure, Notes())
        self.assertEqual(judgement.verdict(results), "")
        # Of several measurements, the best one of each ratio counts.
        self.assertEqual([result.ratio for result in results], [1.4, 1.0])
        self.assertEqual(len(measure.remaining), 1)

    def test_a_peer_that_did_nothing_is_far_off(self):
        result = Result("work", "theirs", "s", far_off=3.0)
        result.add(1, 0)
        self.assertNotEqual(judgement.verdict([result]), "")


if __name__ == "__main__":
    unittest.main()
