"""Tests that the count of instructions fails if a row takes too many, and only on the machine that its file is of."""

import unittest

import instructions

MACHINE = {"architecture": "x86_64", "compiler": "Swift version 6.3.1"}


def kept(**rows):
    return {"machine": MACHINE, "rows": {name: {"instructions": value} for name, value in rows.items()}}


def counted(**rows):
    return {name: {"instructions": value} for name, value in rows.items()}


class VerdictTests(unittest.TestCase):
    def test_three_percent_more_is_allowed(self):
        self.assertEqual(instructions.verdict(kept(stored=1000), MACHINE, counted(stored=1030)), [])

    def test_more_is_a_fault_that_names_the_row_and_both_values(self):
        (fault,) = instructions.verdict(
            kept(validated=1000, stored=1000), MACHINE, counted(validated=1000, stored=1031))
        self.assertIn("stored takes 1,031 instructions", fault)
        self.assertIn("says 1,000", fault)

    def test_nothing_is_compared_with_the_file_of_another_machine(self):
        other = MACHINE | {"compiler": "Swift version 6.4"}
        self.assertIsNone(instructions.verdict(kept(stored=1000), other, counted(stored=5000)))

    def test_every_row_of_the_gate_is_a_row(self):
        self.assertLessEqual(set(instructions.GATE), set(instructions.ROWS))


if __name__ == "__main__":
    unittest.main()
