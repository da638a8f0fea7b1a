"""What callgrind has counted is written down for the compiler: python3 -m unittest discover Benchmarks/bench"""

import unittest

import sample_profile

# A function that runs 7 times, calls one of another object, and comes back; what the call cost is not its own.
COUNTED = """\
positions: instr line
events: Ir

ob=(1) /release/carillon
fl=(1) File.swift
fn=(1) outer
0x1000 10 7
+4 +1 7
cob=(2) /lib/libc.so
cfn=(2) malloc
calls=7 0x90
* * 700
+0x10 * 6
-4 * 5

ob=(2)
fn=(2)
0x90 0 700

ob=(1)
fn=(3) outer
0x1000 10 2
"""


def at(name, line, start=10, discriminator=0):
    return name, sample_profile.place({"Line": line, "StartLine": start, "Discriminator": discriminator})


class CountsTests(unittest.TestCase):
    def test_only_the_program_is_counted_and_no_call(self):
        counted = sample_profile.counts(COUNTED.splitlines(keepends=True), "/release/carillon")
        self.assertEqual(counted, {0x1000: 9, 0x1004: 7, 0x1014: 6, 0x1010: 5})


class ProfileTests(unittest.TestCase):
    def test_a_line_ran_as_often_as_any_of_its_instructions(self):
        stacks = [[at("f", 12)], [at("f", 12)], [at("f", 13, discriminator=4)]]
        text = sample_profile.profile({1: 3, 2: 9, 3: 4}, stacks)
        self.assertEqual(text, "f:13:9\n 2: 9\n 3.2: 4\n")

    def test_of_a_discriminator_the_base_is_what_counts(self):
        self.assertEqual([sample_profile.base(number) for number in (0, 1, 2, 3, 12, 62)], [0, 0, 1, 0, 6, 31])
        self.assertEqual(sample_profile.base(33 << 2 & ~0x7F | (33 & 0x1F | 0x20) << 1), 33)

    def test_what_the_symbolizer_says_is_turned_round(self):
        line = """{"Address":"0x40","ModuleName":"m","Symbol":[
            {"Column":3,"Discriminator":0,"FileName":"b.swift","FunctionName":"$s1bF","Line":32,"StartLine":30},
            {"Column":9,"Discriminator":4,"FileName":"a.swift","FunctionName":"$s1aF","Line":15,"StartLine":10}]}"""
        self.assertEqual(sample_profile.stack(line), [("$s1aF", (5, 2)), ("$s1bF", (2, 0))])
        self.assertEqual(sample_profile.stack('{"Address":"0x40","Error":{"Message":"none"}}'), [])

    def test_what_was_inlined_stands_where_it_is_called(self):
        text = sample_profile.profile({1: 3, 2: 5}, [[at("f", 11), at("g", 30, start=29)], [at("f", 11)]])
        self.assertEqual(text, "f:8:5\n 1: 5\n 1: g:3\n  1: 3\n")

    def test_lines_without_a_number_count_from_the_end_of_sixteen_bits(self):
        self.assertEqual(sample_profile.profile({1: 3}, [[at("f", 0, start=1)]]), "f:3:3\n 65535: 3\n")

    def test_what_ran_most_comes_first_and_names_of_other_letters_do_not_come(self):
        stacks = [[at("f", 10)], [at("g", 10)], [at("operator new", 10)], []]
        self.assertEqual(sample_profile.profile({1: 1, 2: 2, 3: 3, 4: 4}, stacks), "g:2:2\n 0: 2\nf:1:1\n 0: 1\n")


if __name__ == "__main__":
    unittest.main()
