"""Tests script/run, script/release, script/bootstrap, script/package, script/reproduce, script/test, script/format and script/numbers with programs of
our own in place of Swift's and Debian's: what they print, and what they refuse. Packaging/check runs them.
"""

import json
import os
import pathlib
import pty
import shutil
import subprocess
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent / "script"


class ScriptTestCase(unittest.TestCase):
    """A clone with the real script under test, and a folder of programs that come first on the path."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        # No part of a script may break at spaces.
        self.root = pathlib.Path(folder.name, "a clone")
        self.programs = pathlib.Path(folder.name, "programs")
        self.programs.mkdir(parents=True)
        (self.root / "script").mkdir(parents=True)
        self.environment = {**os.environ, "PATH": f"{self.programs}:/usr/bin:/bin", "LC_ALL": "C"}

    def real(self, name):
        shutil.copy(SCRIPTS / name, self.root / "script" / name)

    def write(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)

    def program(self, name, text):
        self.write(self.programs / name, text)

    def run_script(self, name, *arguments):
        return subprocess.run(
            [self.root / "script" / name, *arguments], capture_output=True, text=True, env=self.environment, timeout=60)


class RunTests(ScriptTestCase):
    BUILD = r"""
        echo 'Fetching https://example.com/a-package'
        echo 'Building for production...'
        echo '[1/30] Compiling A a.swift'
        echo '[30/30] Linking carillon'
    """

    def setUp(self):
        super().setUp()
        self.real("run")
        self.write(self.root / "script/bootstrap", "")
        self.build(self.BUILD)

    def build(self, text, status=0):
        command = self.root / ".build/release/carillon"
        self.write(self.root / "script/release", f"""
            {text}
            (({status} == 0)) || exit {status}
            mkdir -p "{command.parent}"
            printf '%s\n' '#!/bin/sh' 'echo "ran: $*"' >"{command}"
            chmod +x "{command}"
        """)

    def test_a_terminal_shows_the_progress_in_one_line_and_standard_output_is_the_commands(self):
        reader, writer = pty.openpty()
        ran = subprocess.run(
            [self.root / "script/run", "team", "list"], stdout=subprocess.PIPE, stderr=writer, text=True,
            env=self.environment, timeout=60)
        os.close(writer)
        shown = b""
        # Reading fails when everything was read and nobody has the other end.
        try:
            while more := os.read(reader, 4096):
                shown += more
        except OSError:
            pass
        os.close(reader)
        self.assertEqual(ran.stdout, "ran: team list\n")
        first, rest = shown.decode().split("\r\n")
        self.assertIn("takes some minutes", first)
        steps = rest.split("\r\033[K")
        self.assertEqual(
            steps, ["", "Fetching https://example.com/a-package", "1 of 30  Compiling A a.swift", "30 of 30  Linking carillon", ""])

    def test_without_a_terminal_one_line_says_that_it_builds(self):
        ran = self.run_script("run")
        self.assertEqual(ran.stdout, "ran: demo\n")
        self.assertEqual(ran.stderr.count("\n"), 1)
        # The next time the command is there.
        self.assertEqual(self.run_script("run").stderr, "")

    def test_a_build_that_fails_shows_everything_that_it_printed_and_runs_nothing(self):
        self.build(self.BUILD + "\necho 'error: a.swift is wrong' >&2", status=3)
        ran = self.run_script("run")
        self.assertNotEqual(ran.returncode, 0)
        self.assertEqual(ran.stdout, "")
        self.assertIn("[30/30] Linking carillon", ran.stderr)
        self.assertIn("error: a.swift is wrong", ran.stderr)


class ReleaseTests(ScriptTestCase):
    """script/release, with a swift that prints the commit that it puts into the version."""

    def setUp(self):
        super().setUp()
        self.real("release")
        self.real("swift")
        self.program("swift", "echo \"commit: ${CARILLON_COMMIT-none}\"")
        self.environment.pop("CARILLON_COMMIT", None)

    def commit(self):
        for command in [["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "One"]]:
            subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.com", *command], cwd=self.root, check=True)
        return subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"], cwd=self.root, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def test_the_version_has_the_commit(self):
        commit = self.commit()
        self.assertEqual(self.run_script("release", "carillon").stdout, f"commit: {commit}\n")
        (self.root / "new").touch()
        self.assertEqual(self.run_script("release", "carillon").stdout, f"commit: {commit}-changed\n")

    def test_a_commit_that_is_given_stays(self):
        self.commit()
        self.environment["CARILLON_COMMIT"] = "abc"
        self.assertEqual(self.run_script("release", "carillon").stdout, "commit: abc\n")

    def test_the_order_of_traits_stays_so_that_nothing_is_compiled_twice(self):
        self.program("swift", "echo \"seed: ${SWIFT_DETERMINISTIC_HASHING-none}\"")
        self.environment.pop("SWIFT_DETERMINISTIC_HASHING", None)
        self.assertEqual(self.run_script("release", "carillon").stdout, "seed: 1\n")

    def test_a_folder_that_is_no_clone_is_built_without_a_commit(self):
        self.assertEqual(self.run_script("release", "carillon").stdout, "commit: none\n")


class BootstrapTests(ScriptTestCase):
    def setUp(self):
        super().setUp()
        self.real("bootstrap")
        self.program("swift", "echo 'Swift version 6.2.1 (swift-6.2.1-RELEASE)'")
        self.program("uname", "echo Linux")
        # What is missing on a fresh machine, until apt-get has installed it.
        self.program("pkg-config", f"[[ -e '{self.root}/installed' ]]")
        # For users other than root.
        self.program("sudo", 'exec "$@"')
        self.apt("echo chatter; echo more >&2; touch \"{root}/installed\"")

    def apt(self, text):
        self.program("apt-get", '[[ $1 == update ]] && { echo lists; exit 0; }\n' + text.replace("{root}", str(self.root)))

    def test_the_chatter_of_apt_get_is_hidden(self):
        ran = self.run_script("bootstrap")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stdout, "")
        self.assertEqual(ran.stderr, "Installing libpq-dev libsqlite3-dev with apt-get.\n")
        self.assertEqual(self.run_script("bootstrap").stderr, "")

    def test_the_chatter_of_apt_get_is_shown_if_it_fails(self):
        self.apt("echo 'E: Unable to locate package libpq-dev' >&2; exit 100")
        ran = self.run_script("bootstrap")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("E: Unable to locate package libpq-dev", ran.stderr)

    def test_what_is_still_missing_after_the_installation_is_named(self):
        self.apt("exit 0")
        ran = self.run_script("bootstrap")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("still missing after the installation: libpq-dev libsqlite3-dev", ran.stderr)

    def test_an_old_swift_is_refused_before_anything_is_installed(self):
        self.program("swift", "echo 'Swift version 6.1 (swift-6.1-RELEASE)'")
        ran = self.run_script("bootstrap")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("Swift 6.1 is too old: install 6.2 or later", ran.stderr)
        self.assertNotIn("Installing", ran.stderr)

    def test_packages_need_what_debian_builds_with(self):
        self.program("dpkg-query", "exit 1")
        self.assertRegex(self.run_script("bootstrap", "--packages").stderr, r"Installing .*\bbuild-essential\b")

    def test_trying_packages_needs_no_swift(self):
        self.program("swift", "exit 127")
        for name in ["debootstrap", "systemd-nspawn", "openssl", "buildah", "postgres"]:
            self.program(name, "")
        ran = self.run_script("bootstrap", "--trials")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))


class PackageTests(ScriptTestCase):
    def setUp(self):
        super().setUp()
        self.real("package")
        # What is not tested here ends at the first step of the build.
        self.write(self.root / "script/bootstrap", "")
        self.write(self.root / "Packaging/version", "echo 1.2.3")
        self.program("swift", "echo 'the build began' >&2; exit 1")
        self.program("dpkg", "echo amd64")
        self.git("init", "--quiet")
        self.git("add", ".")
        self.git("-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "--quiet", "--message", "One")

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.root, *arguments], check=True)

    def test_a_folder_that_is_no_clone_is_refused(self):
        shutil.rmtree(self.root / ".git")
        ran = self.run_script("package")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("is not a git clone", ran.stderr)

    def test_a_folder_in_another_clone_is_refused(self):
        (self.root / ".git").rename(self.root.parent / ".git")
        self.assertIn("is not a git clone", self.run_script("package").stderr)

    def test_two_builds_of_changed_files_are_refused(self):
        (self.root / "new").touch()
        self.assertIn("has other changes", self.run_script("package", "--twice").stderr)

    def test_the_versions_may_be_those_of_the_clone(self):
        resolved = self.root / "Package.resolved"
        resolved.write_text("{}")
        ran = self.run_script("package", "--resolved", resolved)
        self.assertIn("the build began", ran.stderr)
        self.assertEqual(resolved.read_text(), "{}")

    def test_unknown_arguments_and_missing_files_are_refused(self):
        self.assertIn("unknown argument --fast", self.run_script("package", "--fast").stderr)
        self.assertIn("--resolved takes a file", self.run_script("package", "--resolved", "missing").stderr)


class ReproduceTests(ScriptTestCase):
    """script/reproduce, with a script/package that writes what the test says."""

    def setUp(self):
        super().setUp()
        self.real("reproduce")
        self.write(self.root / "Packaging/inputs", "echo \"inputs of $1 and $2\"")
        self.write(self.root / "script/package", r"""
            root=$(cd "$(dirname "$0")/.." && pwd)
            [[ $1 == --resolved && $(cat "$2") == versions ]] || exit 9
            out=$root/.build/packages
            mkdir -p "$out" && echo "${CONTENT-content}" >"$out/a.deb" && echo other >"$out/b.deb"
            cp "$2" "$out/"
            # The statement has the length of the path.
            echo "$COMMIT ${#root}" >"$out/carillon-1.intoto.json"
        """)
        (self.root / ".gitignore").write_text(".build\n")
        for command in [["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "One"]]:
            subprocess.run(
                ["git", "-c", "user.name=A", "-c", "user.email=a@example.com", *command], cwd=self.root, check=True)
        self.commit = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=self.root, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        self.published = self.root / ".build/packages"
        self.published.mkdir(parents=True)
        # One that lies there, and that SHA256SUMS does not name.
        (self.published / "another.resolved").write_text("others\n")
        (self.published / "carillon-1.resolved").write_text("versions\n")
        (self.published / "a.deb").write_text("content\n")
        (self.published / "b.deb").write_text("other\n")
        self.sums("a.deb", "b.deb", "carillon-1.resolved")

    def sums(self, *names):
        (self.published / "SHA256SUMS").write_text(subprocess.run(
            ["sha256sum", *names], cwd=self.published, check=True, stdout=subprocess.PIPE, text=True).stdout)

    def state(self, commit, length):
        """Publishes a statement, which the same build makes again only in JSON."""
        statement = json.dumps({"predicate": {"buildDefinition": {
            "externalParameters": {"commit": commit}, "internalParameters": {"pathLength": length}}}})
        (self.published / "carillon-1.intoto.json").write_text(statement)
        self.sums("a.deb", "b.deb", "carillon-1.resolved", "carillon-1.intoto.json")

    def test_the_same_files_are_named(self):
        result = self.run_script("reproduce", "HEAD")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.split(), ["same", "a.deb", "same", "b.deb", "same", "carillon-1.resolved"])

    def test_a_file_that_differs_is_named_and_what_it_was_made_with(self):
        self.environment["CONTENT"] = "changed"
        result = self.run_script("reproduce", "HEAD")
        self.assertEqual(result.returncode, 1)
        *files, inputs = result.stdout.splitlines()
        self.assertEqual(files, ["different  a.deb", "same       b.deb", "same       carillon-1.resolved"])
        self.assertRegex(inputs, f"^inputs of {self.published} and .+/.build/packages$")

    def test_the_folder_of_the_build_has_a_path_as_long_as_the_published_one(self):
        length = len(tempfile.gettempdir()) + 60
        self.state(self.commit, length)
        self.write(self.root / "Packaging/inputs", 'cat "$2/carillon-1.intoto.json"')
        self.environment["COMMIT"] = self.commit
        result = self.run_script("reproduce", "HEAD")
        self.assertEqual(result.stdout.splitlines()[-1], f"{self.commit} {length}", result.stderr)

    def test_a_path_that_is_too_short_is_refused(self):
        self.state(self.commit, 4)
        result = self.run_script("reproduce", "HEAD")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("whose path has 4 characters; set TMPDIR", result.stderr)

    def test_packages_of_another_commit_are_refused(self):
        self.state("0" * 40, 40)
        result = self.run_script("reproduce", "HEAD")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn(f"made from {'0' * 40}, and not from {self.commit}", result.stderr)

    def test_versions_that_the_checksums_do_not_name_are_refused(self):
        self.sums("a.deb", "b.deb")
        result = self.run_script("reproduce", "HEAD")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("has no .resolved file", result.stderr)

    def test_a_published_file_with_a_changed_byte_is_named(self):
        (self.published / "b.deb").write_text("othes\n")
        result = self.run_script("reproduce", "HEAD")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertRegex(result.stderr, r"not as .+/SHA256SUMS says: b\.deb\n")

    def test_a_file_that_was_not_built_is_named(self):
        with (self.published / "SHA256SUMS").open("a") as sums:
            sums.write("0" * 64 + "  c.deb\n")
        result = self.run_script("reproduce", "HEAD")
        self.assertEqual(result.returncode, 1)
        self.assertIn("missing    c.deb", result.stdout)

    def test_a_commit_that_is_not_there_is_refused(self):
        result = self.run_script("reproduce", "nonsense")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no commit nonsense", result.stderr)


class TestTests(ScriptTestCase):
    """script/test in a clone with two test targets and stages that do as they are told."""

    def setUp(self):
        super().setUp()
        self.real("test")
        self.write(self.root / "script/bootstrap", "true")
        # swift build, and swift test, which prints the filter and fails for the targets in FAILING.
        self.write(self.root / "script/swift", """
            [[ $1 == build ]] && exit
            while [[ $1 != --filter ]]; do shift; done
            echo "ran $2"
            [[ " $FAILING " == *" $2 "* ]] || exit 0
            echo "✘ Test first failed"
            exit 1""")
        for target in ("Shared/RatesTests", "Shared/TrustTests"):
            (self.root / "Tests" / target).mkdir(parents=True)
        for name in ("script/schemathesis", "Packaging/check", "script/dependent", "script/site", "script/clients",
                     "script/testing-clients", "script/cluster", "script/console-types", "script/console",
                     "Examples/testing/try",
                     "Examples/backend/try"):
            self.write(self.root / name, f"echo 'ran {name}'; [[ ${{BROKEN-}} != {name} ]]")
        self.program("python3", "echo ran $*")

    def run_test(self, *arguments, **environment):
        return subprocess.run(
            [self.root / "script/test", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**self.environment, "FAILING": "", **environment})

    def test_a_target_that_fails_does_not_end_the_run_and_is_named_at_the_end(self):
        result = self.run_test(FAILING="^RatesTests\\.")
        self.assertEqual(result.returncode, 1)
        rows = result.stdout[result.stdout.index("script/test: RatesTests failed:"):]
        self.assertIn("✘ Test first failed", rows)
        self.assertRegex(rows, r"RatesTests +failed")
        self.assertRegex(rows, r"TrustTests +passed")
        self.assertRegex(rows, r"examples-backend +passed")
        self.assertTrue(rows.endswith("stages failed: RatesTests\n"), rows)

    def test_a_script_that_fails_is_named(self):
        result = self.run_test(BROKEN="script/site")
        self.assertEqual(result.returncode, 1)
        self.assertIn("stages failed: site", result.stdout)

    def test_all_that_pass_end_with_the_table(self):
        result = self.run_test()
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertRegex(result.stdout, r"examples-backend +passed +\d+ s\n$")

    def test_only_the_named_stages_run(self):
        result = self.run_test("--stage", "TrustTests", "--stage", "site")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual([row.split()[:2] for row in result.stdout.split("\n\n")[1].splitlines()], [
            ["TrustTests", "passed"], ["site", "passed"]])
        self.assertNotIn("RatesTests", result.stdout)

    def test_one_named_stage_shows_what_it_prints(self):
        self.assertEqual(self.run_test("--stage", "TrustTests").stdout, "ran ^TrustTests\\.\n")
        self.assertEqual(self.run_test("--stage", "site", BROKEN="script/site").returncode, 1)

    def test_an_unknown_stage_is_refused(self):
        result = self.run_test("--stage", "Tests")
        self.assertEqual(result.returncode, 1)
        self.assertIn("there is no stage Tests", result.stdout)

    def test_the_names_of_the_stages_are_printed(self):
        self.assertEqual(self.run_test("--stages").stdout.split()[:3], ["RatesTests", "TrustTests", "schemathesis"])


class FormatTests(ScriptTestCase):
    def setUp(self):
        super().setUp()
        self.real("format")
        self.write(self.root / "script/bootstrap", "")
        self.write(self.root / "script/numbers", "")
        self.program("swift", 'echo "swift $2"')
        for folder in ["Sources", "Tests"]:
            (self.root / folder).mkdir()

    def test_a_test_that_starts_a_program_with_process_is_named(self):
        for line in ["let process = Process()", "Foundation.Process()", "Process.init()", "try Process.run(url, arguments: [])"]:
            (self.root / "Tests/A.swift").write_text(f"import Foundation\n{line}\n")
            result = self.run_script("format", "--check")
            self.assertEqual((result.returncode, result.stdout), (1, ""), line)
            self.assertIn(f"Tests/A.swift:2:{line}\n", result.stderr)
            self.assertIn("RunningProgram (docs/decisions/0057-programs-of-tests.md)", result.stderr)

    def test_other_names_and_other_folders_are_allowed(self):
        (self.root / "Tests/A.swift").write_text("CarillonProcess()\nTerminalProcess(command)\nProcessInfo.processInfo\nProcessor()\n")
        (self.root / "Sources/A.swift").write_text("Process()\n")
        result = self.run_script("format", "--check")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "swift lint\n", ""))

    def test_without_check_nothing_is_refused(self):
        (self.root / "Tests/A.swift").write_text("Process()\n")
        self.assertEqual(self.run_script("format").stdout, "swift format\n")


class NumbersTests(ScriptTestCase):
    REFUSED = [
        "let count = Int(length)",
        "buffer.write(UInt16(text.count))",
        "let number = Int(text) ?? Int(other)",
        "let count = Int.init(length)",
        "numbers.map(Int.init)",
        "numbers.map(Int.init(_:))",
        "optional.flatMap(Int64.init)",
        "optional.flatMap { Int($0) }",
        "let short: UInt16 = numericCast(long)",
        "let next = (Int(text) ?? 0) + 1",
        "let next = row.integer(0) + 1",
        "let next = position.index + 1",
        "let left = end.milliseconds - now.milliseconds",
        "try await Task.sleep(for: .seconds(minutes * 60))",
        "let wait = Duration.seconds(first + second)",
        "guard let length = buffer.readInteger(as: UInt32.self) else { return }\nlet end = start + length",
        "let first = Int(text) ?? 0\nlet second = 2 * first",
        'let text = """\n    \\(Int(long))\n    """',
        "// fits:\nlet count = Int(length)",
        "// fits: a byte\n\nlet count = Int(length)",
    ]
    ACCEPTED = [
        "let count = Int(length)  // fits: a byte",
        "// fits: a byte\nlet count = Int(length)",
        "// fits below: $1: the range was checked\n\nrow { Int($1) * 60 }",
        "let count = Int(exactly: length)",
        "let count = Int(clamping: length) &+ 1",
        "guard let number = Int(text) else { return nil }",
        "guard isThere,\n    let number = Int(text), number > 0\nelse { return nil }",
        "let number = Int(text) ?? 0",
        "let number = Int64(bytes.count)",
        "let limit = Int64(Limits.bytes)",
        "poll(Int16(POLLIN))",
        "let byte = UInt8(isFirst ? 0 : 1)",
        "bytes.reduce(0) { $0 << 8 | UInt64($1) }",
        "let left = end.milliseconds - min(end.milliseconds, now)",
        'let statement = """\n    UPDATE change SET last = change.last + 1\n    """',
        "/// Int(length) is a number.",
        "guard let length = Int(text) else { return }\n}\nfunc other() {\n    let end = start + length",
    ]

    def setUp(self):
        super().setUp()
        self.real("numbers")
        (self.root / "Sources").mkdir()

    def numbers(self, text):
        (self.root / "Sources/A.swift").write_text(text + "\n")
        return self.run_script("numbers")

    def test_arithmetic_without_a_reason_is_named(self):
        for text in self.REFUSED:
            result = self.numbers(text)
            self.assertEqual(result.returncode, 1, text)
            self.assertIn("Sources/A.swift:", result.stderr, text)

    def test_reasons_and_harmless_forms_are_accepted(self):
        for text in self.ACCEPTED:
            result = self.numbers(text)
            self.assertEqual((result.returncode, result.stderr), (0, ""), text)

    def test_the_line_is_named(self):
        self.assertTrue(self.numbers("\n\nlet count = Int(length)").stderr.startswith("Sources/A.swift:3: let count = Int(length)\n"))


if __name__ == "__main__":
    unittest.main()
