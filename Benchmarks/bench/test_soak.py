"""Tests how script/soak decides that something has grown: python3 -m unittest discover Benchmarks/bench"""

import unittest
from collections import namedtuple

from soak import growth

Reading = namedtuple("Reading", "memory files threads")


def rounds(*, memory=(60,) * 9, files=(34,) * 9, threads=(20,) * 9):
    return [Reading(megabytes * 1_000_000, *rest) for megabytes, *rest in zip(memory, files, threads)]


class GrowthTests(unittest.TestCase):
    def test_what_stays_as_it_is_has_not_grown(self):
        self.assertEqual(growth(rounds()), [])

    def test_threads_of_a_pool_come_and_go(self):
        self.assertEqual(growth(rounds(threads=(16, 21, 20, 22, 19, 21, 22, 20, 23))), [])

    def test_memory_that_grows_round_by_round_is_a_complaint(self):
        self.assertEqual(growth(rounds(memory=range(60, 150, 10))), ["memory grew from 70 to 130 MB"])

    def test_so_are_files(self):
        self.assertEqual(growth(rounds(files=range(34, 52, 2))), ["open files grew from 36 to 48"])

    def test_so_are_threads(self):
        self.assertEqual(growth(rounds(threads=range(20, 38, 2))), ["threads grew from 22 to 34"])

    def test_two_rounds_are_compared(self):
        self.assertEqual(growth(rounds(memory=(60, 90))), ["memory grew from 60 to 90 MB"])


if __name__ == "__main__":
    unittest.main()
