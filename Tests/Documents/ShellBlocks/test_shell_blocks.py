"""Tests that the shell blocks of the documents work if they are pasted into a shell. CARILLON is the command.

Each fenced block says its language, and each block of `sh` runs, or the plan has the reason why not.
"""

import os
import pathlib
import unittest

from blocks import blocks_of, documents
from plan import PLANS
from runner import blocks_to_run, run

COMMAND = str(pathlib.Path(os.environ.get("CARILLON", "carillon")).absolute())


class PlanTests(unittest.TestCase):
    def test_each_block_names_its_language(self):
        unnamed = [str(block) for document in documents() for block in blocks_of(document) if not block.language]
        self.assertEqual(unnamed, [], "write ```sh for a shell, and ```text for what is none")

    def test_each_shell_block_is_run_or_skipped_with_a_reason(self):
        for document in documents():
            shell = [block for block in blocks_of(document) if block.language in ("sh", "bash", "shell", "console")]
            with self.subTest(document=document):
                self.assertEqual([str(block) for block in shell if block.language != "sh"], [], "write ```sh")
                self.assertEqual(bool(shell), document in PLANS, "plan.py has a plan for each document with shell blocks, and no other")

    def test_each_line_of_the_plan_is_one_of_a_document(self):
        for document, plan in PLANS.items():
            blocks = blocks_of(document)
            first_lines = [block.first_line for block in blocks if block.language == "sh"]
            for line in [*plan.before, *plan.after, *plan.skipped]:
                with self.subTest(document=document, line=line):
                    self.assertTrue(line == "*" or first_lines.count(line) == 1, "one block begins with this line")
            for text in plan.replace:
                with self.subTest(document=document, text=text):
                    self.assertTrue(any(text in block.text for block in blocks), "a block contains this text")
            for line, reason in [*plan.skipped.items(), *plan.without.items()]:
                self.assertTrue(reason, f"{document}: {line}")


class ShellBlockTests(unittest.TestCase):
    maxDiff = None


def add_test(document):
    def test(self):
        run(document, COMMAND)
    name = "".join(each if each.isalnum() else "_" for each in document)
    setattr(ShellBlockTests, f"test_{name}", test)


for each in PLANS:
    if blocks_to_run(each):
        add_test(each)

if __name__ == "__main__":
    unittest.main()
