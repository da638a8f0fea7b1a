"""Pastes each test of docs/testing.md, docs/test-suites.md and the packages' READMEs into an empty folder with the package
installed, and runs it.

usage: PACKAGES=FOLDER CARILLON=PROGRAM PYTHON=INTERPRETER python3 -m unittest test_documents

PACKAGES is what script/testing-packages made, and PYTHON an environment with the wheel and the clients that the tests name.
"""

import os
import re
import shutil
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

from test_packages import JUNIT, PACKAGES, run

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "Tests/Documents/ShellBlocks"))

from blocks import blocks_of  # noqa: E402

DOCUMENTS = ["docs/testing.md", "docs/test-suites.md", "Clients/testing/README.md", *(
    f"Clients/testing/{language}/README.md" for language in ("python", "node", "go", "java"))]
# The shell's are Tests/Documents/ShellBlocks', and the others are no programs.
NO_PROGRAMS = {"sh", "json", "text"}
# Blocks that are not run, by their first lines, and the reason.
SKIPPED = {
    "new ApnsClientBuilder().setApnsServer(apns.host(), apns.port())": "Pushy is not on the machine, as the page says",
    '.package(url: "URL of the repository", from: "0.2.0", traits: ["Service"]),': "script/dependent builds such a package",
    '.product(name: "CarillonTesting", package: "carillon"),': "script/dependent builds such a package",
}
# What has each Swift block word for word. It is compiled and run with the other tests of the library.
SWIFT = ROOT / "Tests/Libraries/CarillonTestingTests/TestSuitesPageTests.swift"
# Go's and Java's packages have no program inside.
WITH_CARILLON = dict(os.environ)
LAUNCHER = [Path("/usr/share/java", f"{name}.jar") for name in (
    "junit-jupiter-engine", "junit-jupiter-params", "junit-platform-engine", "junit-platform-launcher",
    "junit-platform-reporting", "junit-platform-console", "picocli", "opentest4j-reporting-events",
    "opentest4j-reporting-schema", "univocity-parsers", "apiguardian-api")]


def run_python(text, folder):
    (folder / "test_orders.py").write_text(text)
    return run(Path(os.environ["PYTHON"]).absolute(), "-m", "pytest", "-p", "no:cacheprovider", folder=folder), "1 passed"


def run_node(text, folder):
    (package,) = PACKAGES.glob("*.tgz")
    (folder / "package.json").write_text("{}")
    run("npm", "install", "--offline", "--no-audit", "--no-fund", "--save-dev", package, folder=folder)
    (folder / "orders.test.mjs").write_text(text)
    return run("node", "--test", folder=folder), "# pass 1"


def run_go(text, folder):
    (module,) = PACKAGES.glob("carillontest-*")
    (folder / "orders_test.go").write_text(text)
    run("go", "mod", "init", "example.com/orders", folder=folder)
    run("go", "mod", "edit", "-require", f"carillon.example/carillontest@v{module.name.partition('-')[2]}",
        "-replace", f"carillon.example/carillontest={module}", folder=folder)
    return run("go", "test", "-count=1", "-v", "./...", folder=folder, environment={**WITH_CARILLON, "GOPROXY": "off"}), "--- PASS: "


def run_java(text, folder):
    (jar,) = (PACKAGES / "maven").rglob("*.jar")
    name = re.search(r"^class (\w+)", text, re.M)[1]
    (folder / f"{name}.java").write_text(text)
    path = ":".join(map(str, [jar, *JUNIT, *LAUNCHER]))
    run("javac", "--release", "17", "-cp", path, "-d", "classes", f"{name}.java", folder=folder)
    return run(
        "java", "-cp", f"{path}:classes", "org.junit.platform.console.ConsoleLauncher", "--disable-banner",
        "--scan-classpath", "classes", folder=folder, environment=WITH_CARILLON), "1 tests successful"


def find_swift(text, _folder):
    inside = textwrap.indent(text, "    ")
    source = SWIFT.read_text()
    return (text if text in source or inside in source else f"{SWIFT} does not have it"), text


# How a language's test is run, and a program that it needs. Each runs the text in a folder, and returns its output, and what says
# there that one test has passed.
RUNNERS = {
    "python": (run_python, "python3"), "js": (run_node, "npm"), "go": (run_go, "go"), "java": (run_java, "javac"),
    "swift": (find_swift, "sh")}


def has(program):
    if program == "javac" and not (PACKAGES / "maven").exists():
        return False
    return shutil.which(program) is not None


PROGRAMS = [
    block for document in DOCUMENTS for block in blocks_of(document)
    if block.language not in NO_PROGRAMS and block.first_line not in SKIPPED]


class PlanTests(unittest.TestCase):
    def test_each_block_is_run_or_skipped_with_a_reason(self):
        self.assertEqual([str(block) for block in PROGRAMS if block.language not in RUNNERS], [])
        self.assertEqual({block.language for block in PROGRAMS}, set(RUNNERS), "each language has a block")
        first_lines = [block.first_line for document in DOCUMENTS for block in blocks_of(document)]
        self.assertEqual([line for line in SKIPPED if line not in first_lines], [])

    def test_a_test_for_each_block(self):
        names = {name for name in dir(DocumentTests) if name.startswith("test_")}
        self.assertEqual(len(names), len(PROGRAMS))

    def test_a_readme_has_the_same_test_as_the_page(self):
        page = {block.text for block in blocks_of("docs/test-suites.md")}
        other = [str(block) for block in PROGRAMS if block.document != "docs/test-suites.md" and block.text not in page]
        self.assertEqual(other, [], "docs/test-suites.md has each test, so that it is corrected in one place")


class DocumentTests(unittest.TestCase):
    maxDiff = None


def add_test(block):
    runner, program = RUNNERS.get(block.language, (None, ""))

    @unittest.skipUnless(has(program), f"there is no {program}")
    def test(self):
        with tempfile.TemporaryDirectory() as folder:
            output, passed = runner(block.text, Path(folder))
            self.assertIn(passed, output)

    name = re.sub(r"\W", "_", f"{block.document}_{block.line}")
    setattr(DocumentTests, f"test_{name}", test)


for each in PROGRAMS:
    add_test(each)

if __name__ == "__main__":
    unittest.main()
