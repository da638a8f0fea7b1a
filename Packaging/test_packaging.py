"""Tests the scripts that make packages. Packaging/check runs them.

CARILLON is the command, and SHARE the folder with the manual pages and completions that were made of it.
"""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

PACKAGING = pathlib.Path(__file__).resolve().parent


def load(name):
    loader = importlib.machinery.SourceFileLoader(name, str(PACKAGING / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout.strip()


class WithFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, path, text):
        path = self.folder / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


class VersionTests(WithFolder):
    RELEASED = "## [Unreleased]\n\n## [0.2.0] - 2026-11-23\n\n- A line\n\n## [0.1.0] - 2026-01-01\n"
    UNRELEASED = RELEASED.replace("## [0.2.0]", "### Added\n\n- A change\n\n## [0.2.0]")

    def commit(self, changelog, date="2026-11-24T03:02:01+01:00"):
        self.write("CHANGELOG.md", changelog)
        for command in [["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "One"]]:
            run("git", "-C", self.folder, "-c", "user.name=A", "-c", "user.email=a@example.com", *command,
                env={**os.environ, "GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date})

    def version(self):
        return run(PACKAGING / "version", self.folder)

    def test_a_release_has_the_newest_number(self):
        self.commit(self.RELEASED)
        self.assertEqual(self.version(), "0.2.0")

    def test_unreleased_changes_are_newer_than_the_release_and_older_than_the_next(self):
        self.commit(self.UNRELEASED)
        self.assertRegex(self.version(), r"^0\.2\.0\+git20261124020201\.[0-9a-f]{12}$")
        first = self.version()
        self.commit(self.UNRELEASED + "\n", date="2026-11-24T03:02:02+01:00")
        ordered = ["0.2.0", first, self.version(), "0.2.1"]
        for older, newer in zip(ordered, ordered[1:]) if shutil.which("dpkg") else []:
            run("dpkg", "--compare-versions", older, "lt", newer)

    def test_files_that_are_not_in_the_commit_show(self):
        self.commit(self.RELEASED)
        self.write("Sources/New.swift", "")
        self.assertRegex(self.version(), r"^0\.2\.0\+git\d+\.[0-9a-f]{12}\.changed$")


class SBOMTests(WithFolder):
    def setUp(self):
        super().setUp()
        self.sbom = load("sbom")
        checkouts = self.folder / ".build/checkouts"
        self.build(
            {"Own": "Sources/Own/A.swift", "NIOCore": ".build/checkouts/swift-nio/Sources/NIO Core/A.swift"},
            {"CNIOLLHTTP": ".build/checkouts/swift-nio/Sources/CNIOLLHTTP/a.c"})
        self.write("Sources/Own/A.swift", "")
        nio = "Sources/CNIOLLHTTP/include/c_nio_llhttp.h"
        self.write(checkouts / "swift-nio" / nio, "".join(
            f"#define LLHTTP_VERSION_{part} {value}\n" for part, value in [("MAJOR", 9), ("MINOR", 3), ("PATCH", 0)]))
        self.write(checkouts / "swift-nio/Sources/CNIOLLHTTP/LICENSE", "llhttp's text\n")
        self.write(checkouts / "swift-nio/LICENSE.txt", "Apache License\n")
        self.write(checkouts / "swift-nio/NOTICE.txt", "NIO's notice\n")
        self.write(checkouts / "swift-log/LICENSE.txt", "Apache License\n")
        self.write("Package.resolved", json.dumps({"pins": [
            {"identity": name, "location": f"https://example.com/{name}.git", "state": {"version": "1.2.3", "revision": "abc"}}
            for name in ["swift-log", "swift-nio"]]}))

    def build(self, swift, c):
        """What SwiftPM and the compilers leave: the sources of Swift targets, and the dependencies of each C object."""
        release = pathlib.Path(".build/release")
        for target, source in swift.items():
            self.write(release / f"{target}.build/sources", f"'{self.folder / source}'\n")
        for target, source in c.items():
            self.write(release / f"{target}.build/a.c.d", f"dependencies: \\\n  {self.folder / source} \\\n  /usr/include/a.h\n")
        self.write(release / "carillon.product/Objects.LinkFileList", "".join(
            f"{self.folder / release}/{target}.build/a.o\n" for target in [*swift, *c]))

    def packages(self):
        return list(self.sbom.linked_packages(self.folder, self.folder / ".build"))

    def test_only_linked_packages_and_what_they_contain_are_listed(self):
        self.assertEqual([package.title for package in self.packages()], ["swift-nio 1.2.3", "llhttp 9.3.0 (in swift-nio)"])

    def test_a_target_of_no_package_fails(self):
        self.build({"Strange": "elsewhere/A.swift"}, {})
        with self.assertRaisesRegex(SystemExit, "Strange"):
            self.packages()

    def test_a_package_that_is_not_resolved_fails(self):
        self.build({"Other": ".build/checkouts/other/Sources/Other/A.swift"}, {})
        with self.assertRaisesRegex(SystemExit, "other"):
            self.packages()

    def test_a_vendored_version_that_cannot_be_read_fails(self):
        self.write(".build/checkouts/swift-nio/Sources/CNIOLLHTTP/include/c_nio_llhttp.h", "")
        with self.assertRaisesRegex(SystemExit, "llhttp"):
            self.packages()

    def test_all_licences_and_notices_are_in_one_text(self):
        text = self.sbom.licenses(self.packages())
        for part in ["Apache License\n", "NIO's notice\n", "llhttp's text\n"]:
            self.assertEqual(text.count(part), 1)

    def test_the_document_relates_each_package_to_its_owner(self):
        os.environ["SOURCE_DATE_EPOCH"] = "0"
        libpq = self.sbom.Inside("libpq5", "15", "NOASSERTION", is_dynamic=True)
        document = self.sbom.document("a", "1", "c", [*self.packages(), libpq])
        relations = {tuple(relation.values()) for relation in document["relationships"]}
        self.assertEqual(relations, {
            ("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-carillon"),
            ("SPDXRef-carillon", "STATIC_LINK", "SPDXRef-swift-nio"),
            ("SPDXRef-swift-nio", "CONTAINS", "SPDXRef-llhttp-in-swift-nio"),
            ("SPDXRef-carillon", "DYNAMIC_LINK", "SPDXRef-libpq5"),
        })
        identifiers = [package["SPDXID"] for package in document["packages"]]
        self.assertEqual(len(identifiers), len(set(identifiers)))


@unittest.skipUnless(shutil.which("readelf"), "there is no readelf")
class LibrariesTests(unittest.TestCase):
    def check(self, program):
        return subprocess.run([PACKAGING / "libraries", program], capture_output=True, text=True)

    def test_the_c_library_may_be_needed(self):
        # This machine's may be newer than the promised one, which is reported too.
        self.assertNotIn("which should be in it", self.check("/bin/true").stderr)

    def test_newer_symbols_fail(self):
        script = (PACKAGING / "libraries").read_text().replace("GLIBC_2.36", "GLIBC_2.0")
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(script)
            file.flush()
            checked = subprocess.run(["bash", file.name, "/bin/true"], capture_output=True, text=True)
        self.assertRegex(checked.stderr, r"needs GLIBC_2\.\d+; the systems that we promise have GLIBC_2\.0")
        self.assertEqual(checked.returncode, 1)

    def test_another_library_fails(self):
        # curl needs libcurl.
        self.assertIn("libcurl.so.4", self.check("/usr/bin/curl").stderr)


class DocumentsTests(WithFolder):
    def test_all_links_in_the_packaged_documents_lead_to_a_file(self):
        documents = load("documents")
        documents.main(PACKAGING.parent, self.folder / "doc")
        self.assertEqual(list(documents.dead_links((self.folder / "doc").resolve())), [])
        self.assertTrue((self.folder / "doc/docs/images").is_dir())

    def test_a_folder_that_is_no_clone_has_the_same_documents(self):
        documents = load("documents")
        self.write("clone/docs/a page.md", "A")
        self.write("clone/README.md", "A")
        self.write("clone/Sources/A.swift", "")
        self.write("clone/Packaging/apple-ports.conf", "")
        documents.copy(self.folder / "clone", self.folder / "doc")
        copied = {str(path.relative_to(self.folder / "doc")) for path in (self.folder / "doc").rglob("*") if path.is_file()}
        self.assertEqual(copied, {"README.md", "docs/a page.md", "examples/apple-ports.conf"})

    def test_only_the_text_of_a_link_to_source_code_remains(self):
        documents = load("documents")
        page = self.write("docs/page.md", "[A](../Sources/A.swift), [B](other.md#part), [C](https://example.com)")
        self.write("docs/other.md", "")
        self.assertEqual(
            documents.without_dead_links(page, self.folder.resolve()), "A, [B](other.md#part), [C](https://example.com)")


@unittest.skipUnless("CARILLON" in os.environ, "there is no command")
class ManualTests(unittest.TestCase):
    def paths(self, *path):
        """The words of the command and of its subcommands, as --help lists them."""
        yield path
        help_text = run(os.environ["CARILLON"], *path, "--help")
        listed = help_text.partition("\nSUBCOMMANDS:\n")[2].partition("\n\n")[0]
        for name in re.findall(r"^  (\S+)(?: \(default\))?(?:  |$)", listed, re.MULTILINE):
            yield from self.paths(*path, name)

    def commands(self):
        return ("-".join(["carillon", *path]) for path in self.paths())

    def test_each_command_has_a_page(self):
        self.assertEqual({page.stem for page in self.pages()}, set(self.commands()))

    def pages(self):
        return pathlib.Path(os.environ["SHARE"], "man/man1").glob("*.1")

    def test_a_page_has_the_values_and_defaults_that_help_has(self):
        found = 0
        for page in self.pages():
            # A subcommand's name may contain hyphens, so take the command's words from its synopsis.
            words = re.search(r"^\.SH SYNOPSIS\n\\fB(.*?)\\fR", page.read_text(), re.MULTILINE)[1].replace("\\-", "-").split()
            help_text = run(os.environ["CARILLON"], *words[1:], "--help", env={**os.environ, "COLUMNS": "10000"})
            text = page.read_text().replace("\\-", "-").replace("\\e", "\\")
            for fact in re.findall(r"\((?:values|default): .*\)$", help_text, re.MULTILINE):
                found += 1
                self.assertIn(fact, text, page.stem)
        self.assertGreater(found, 10)

    @unittest.skipUnless(shutil.which("bash"), "there is no bash")
    def test_bash_completes_each_command(self):
        # What bash does for `carillon device li` and the tabulator key, for each line of words.
        script = """
            source "$1"
            compopt() { :; }
            while read -ra COMP_WORDS; do
                COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE="${COMP_WORDS[*]}" COMP_TYPE=9 COMP_KEY=9 COMPREPLY=()
                COMP_POINT=${#COMP_LINE}
                _carillon carillon "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
                echo "${COMPREPLY[*]}"
            done
        """
        paths = [path for path in self.paths() if path]
        file = pathlib.Path(os.environ["SHARE"], "bash-completion/completions/carillon")
        # The last letter is missing.
        lines = [" ".join(["carillon", *path])[:-1] for path in [*paths, ["serve", "--ports", "apple"]]]
        completed = run("bash", "-c", script, "bash", file, input="\n".join(lines) + "\n").split("\n")
        for path, words in zip([*paths, ["apple"]], completed, strict=True):
            self.assertIn(path[-1], words.split(), path)


if __name__ == "__main__":
    unittest.main()
