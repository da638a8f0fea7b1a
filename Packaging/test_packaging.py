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
            {"Own": "Sources/Shared/Own/A.swift", "NIOCore": ".build/checkouts/swift-nio/Sources/NIO Core/A.swift"},
            {"CNIOLLHTTP": ".build/checkouts/swift-nio/Sources/CNIOLLHTTP/a.c"})
        self.write("Sources/Shared/Own/A.swift", "")
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
        return list(self.sbom.linked_packages(self.folder, self.folder / ".build", "carillon"))

    def test_only_linked_packages_and_what_they_contain_are_listed(self):
        self.assertEqual([package.title for package in self.packages()], ["swift-nio 1.2.3", "llhttp 9.3.0 (in swift-nio)"])

    def test_each_program_has_its_own_list(self):
        release = pathlib.Path(".build/release")
        self.write(release / "carillon-agent.product/Objects.LinkFileList", f"{self.folder / release}/CarillonAgent.build/a.o\n")
        self.assertEqual(list(self.sbom.linked_packages(self.folder, self.folder / ".build", "carillon-agent")), [])

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
        text = self.sbom.licenses("carillon", self.packages())
        for part in ["Apache License\n", "NIO's notice\n", "llhttp's text\n"]:
            self.assertEqual(text.count(part), 1)

    def test_the_document_relates_each_package_to_its_owner(self):
        os.environ["SOURCE_DATE_EPOCH"] = "0"
        libpq = self.sbom.Inside("libpq5", "15", self.sbom.DYNAMIC["libpq5"], is_dynamic=True)
        document = self.sbom.document("carillon", "a", "1", "c", [*self.packages(), libpq])
        relations = {tuple(relation.values()) for relation in document["relationships"]}
        self.assertEqual(relations, {
            ("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-carillon"),
            ("SPDXRef-carillon", "STATIC_LINK", "SPDXRef-swift-nio"),
            ("SPDXRef-swift-nio", "CONTAINS", "SPDXRef-llhttp-in-swift-nio"),
            ("SPDXRef-carillon", "DYNAMIC_LINK", "SPDXRef-libpq5"),
        })
        identifiers = [package["SPDXID"] for package in document["packages"]]
        self.assertEqual(len(identifiers), len(set(identifiers)))


def missing_for_archives():
    """What linking with Debian's archives lacks on this machine; None if nothing."""
    for program in ["cc", "nm", "dpkg-query"]:
        if not shutil.which(program):
            return f"there is no {program}"
    for archive in ["libsqlite3.a", "libz.a"]:
        # Without a folder in the answer the compiler has not found it.
        if os.sep not in run("cc", f"-print-file-name={archive}"):
            return f"there is no {archive}"
    return None


class ArchivesTests(WithFolder):
    """The libraries inside a program of which the linker's list of objects says nothing."""

    def setUp(self):
        if missing := missing_for_archives():
            self.skipTest(missing)
        super().setUp()
        self.sbom = load("sbom")

    def link(self, call):
        """The libraries that the SBOM finds in a program with this call, which is linked with two archives."""
        source = self.write("program.c", f"""
            #include <sqlite3.h>
            #include <zlib.h>
            int main(void) {{ return (int) ({call}); }}
            """)
        program = self.folder / "program"
        run("cc", source, "-l:libsqlite3.a", "-l:libz.a", "-lm", "-o", program)
        return list(self.sbom.linked_archives(program))

    def test_an_archive_that_the_program_calls_is_listed_and_no_other(self):
        linked = self.link("sqlite3_open_v2(0, 0, 0, 0)")
        version = run("dpkg-query", "--show", "--showformat", "${Version}", "libsqlite3-dev")
        self.assertEqual([(each.title, each.license) for each in linked], [(f"sqlite {version}", "blessing")])
        text = self.sbom.licenses("carillon", linked)
        self.assertIn("D. Richard Hipp", text)

    def test_zlib_is_listed_if_the_program_calls_it(self):
        self.assertEqual([each.name for each in self.link("inflate(0, 0)")], ["zlib"])

    def test_an_archive_that_nobody_calls_is_not_listed(self):
        self.assertEqual(self.link("0"), [])


@unittest.skipUnless(shutil.which("readelf"), "there is no readelf")
class LibrariesTests(unittest.TestCase):
    def check(self, program):
        return subprocess.run([PACKAGING / "libraries", program], capture_output=True, text=True)

    def test_the_c_library_may_be_needed(self):
        # This machine's may be newer than the promised one, which is reported too.
        self.assertNotIn("which should be in it", self.check("/bin/true").stderr)

    def test_newer_symbols_fail(self):
        script = (PACKAGING / "libraries").read_text().replace("GLIBC_2.34", "GLIBC_2.0")
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


    def test_a_package_may_have_some_of_the_documents(self):
        documents = load("documents")
        documents.main(PACKAGING.parent, self.folder / "doc", "docs/device-agent.md", "Examples/device-agent")
        self.assertTrue((self.folder / "doc/docs/device-agent.md").exists())
        self.assertFalse((self.folder / "doc/README.md").exists() or (self.folder / "doc/examples").exists())


class ManualTests(unittest.TestCase):
    """The pages of the command that the environment names, and the completions for it."""

    COMMAND = "CARILLON"
    NAME = "carillon"
    # Fewer would mean that the expression finds none.
    FACTS = 10

    def setUp(self):
        if self.COMMAND not in os.environ:
            self.skipTest("there is no command")

    def paths(self, *path):
        """The words of the command and of its subcommands, as --help lists them."""
        yield path
        help_text = run(os.environ[self.COMMAND], *path, "--help")
        listed = help_text.partition("\nSUBCOMMANDS:\n")[2].partition("\n\n")[0]
        for name in re.findall(r"^  (\S+)(?: \(default\))?(?:  |$)", listed, re.MULTILINE):
            yield from self.paths(*path, name)

    def commands(self):
        return ("-".join([self.NAME, *path]) for path in self.paths())

    def test_each_command_has_a_page(self):
        self.assertEqual({page.stem for page in self.pages()}, set(self.commands()))

    def pages(self):
        return pathlib.Path(os.environ["SHARE"], self.NAME, "man/man1").glob("*.1")

    def test_a_page_has_the_values_and_defaults_that_help_has(self):
        found = 0
        for page in self.pages():
            # A subcommand's name may contain hyphens, so take the command's words from its synopsis.
            words = re.search(r"^\.SH SYNOPSIS\n\\fB(.*?)\\fR", page.read_text(), re.MULTILINE)[1].replace("\\-", "-").split()
            help_text = run(os.environ[self.COMMAND], *words[1:], "--help", env={**os.environ, "COLUMNS": "10000"})
            text = page.read_text().replace("\\-", "-").replace("\\e", "\\")
            for fact in re.findall(r"\((?:values|default): .*\)$", help_text, re.MULTILINE):
                found += 1
                self.assertIn(fact, text, page.stem)
        self.assertGreaterEqual(found, self.FACTS)

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
        # ArgumentParser's script takes `carillon grant handle` for a command that is complete, although `handles` is another one.
        commands = [list(path) for path in self.paths()]
        paths = [path for path in commands if path and [*path[:-1], path[-1][:-1]] not in commands]
        file = pathlib.Path(os.environ["SHARE"], "carillon/bash-completion/completions/carillon")
        # The last letter is missing.
        lines = [" ".join(["carillon", *path])[:-1] for path in [*paths, ["serve", "--ports", "apple"]]]
        completed = run("bash", "-c", script, "bash", file, input="\n".join(lines) + "\n").split("\n")
        for path, words in zip([*paths, ["apple"]], completed, strict=True):
            self.assertIn(path[-1], words.split(), path)


class AgentManualTests(ManualTests):
    COMMAND = "AGENT_PROGRAM"
    NAME = "carillon-agent"
    FACTS = 1
    test_bash_completes_each_command = None


class SignTests(WithFolder):
    """A small package, signed with a key of its own, as an administrator's apt and gpgv see it."""

    def setUp(self):
        super().setUp()
        # gpg's agent takes no long paths for its socket.
        home = tempfile.TemporaryDirectory(prefix="gpg", dir="/tmp")
        self.addCleanup(home.cleanup)
        self.addCleanup(lambda: subprocess.run(["gpgconf", "--kill", "all"], env=self.environment, check=True))
        self.environment = {**os.environ, "GNUPGHOME": home.name, "SOURCE_DATE_EPOCH": "1795648000", "LC_ALL": "C"}
        self.gpg("--passphrase", "", "--quick-generate-key", "releases@example.com", "ed25519", "sign", "never")
        self.write("source/DEBIAN/control", (
            "Package: carillon\nVersion: 0.2.0\nArchitecture: amd64\nMaintainer: A <a@example.com>\nDescription: A package\n"))
        self.write("source/usr/share/carillon/file", "content\n")
        (self.folder / "out").mkdir()
        run("dpkg-deb", "--root-owner-group", "--build", self.folder / "source", self.deb)
        (self.folder / "out/SHA256SUMS").write_text(run("sha256sum", self.deb.name, cwd=self.folder / "out") + "\n")
        self.sign()

    @property
    def deb(self):
        return self.folder / "out/carillon_0.2.0_amd64.deb"

    def gpg(self, *arguments):
        run("gpg", "--batch", "--quiet", *arguments, env=self.environment, stderr=subprocess.DEVNULL)

    def sign(self):
        run(PACKAGING / "sign", self.folder / "out", "releases@example.com", env=self.environment)

    def verify(self, name):
        return subprocess.run(
            ["gpgv", "--keyring", self.folder / "out/carillon.gpg", self.folder / f"out/{name}.asc", self.folder / f"out/{name}"],
            env=self.environment, capture_output=True, text=True)

    def apt(self, *arguments, source=""):
        """apt with folders of its own, which knows this repository alone."""
        root = self.folder / "apt"
        for name in ["lists/partial", "archives/partial", "etc", "dpkg"]:
            (root / name).mkdir(parents=True, exist_ok=True)
        (root / "dpkg/status").touch()
        signed = source or f"[arch=amd64 signed-by={self.folder}/out/carillon.gpg]"
        (root / "sources.list").write_text(f"deb {signed} file:{self.folder}/out/repository stable main\n")
        options = {
            "Dir::State": root, "Dir::State::Lists": root / "lists", "Dir::State::status": root / "dpkg/status", "Dir::Cache": root,
            "Dir::Cache::Archives": root / "archives", "Dir::Etc::SourceList": root / "sources.list", "Dir::Etc::SourceParts": "-",
            "Dir::Etc::TrustedParts": root / "etc", "APT::Architecture": "amd64", "APT::Sandbox::User": "root",
            "Dir::Etc::Parts": root / "etc", "Dir::Etc::PreferencesParts": root / "etc",
        }
        flags = [part for name, value in options.items() for part in ("-o", f"{name}={value}")]
        return subprocess.run(
            ["apt-get", "--quiet", *flags, *arguments], cwd=root, env=self.environment, capture_output=True, text=True)

    def test_each_file_has_a_signature_that_gpgv_accepts(self):
        for name in ["SHA256SUMS", self.deb.name]:
            self.assertEqual(self.verify(name).returncode, 0, name)

    def test_gpgv_refuses_a_changed_byte(self):
        with self.deb.open("r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.write(b"x")
        self.assertNotEqual(self.verify(self.deb.name).returncode, 0)

    def test_apt_takes_the_package_from_the_repository(self):
        updated = self.apt("update")
        self.assertEqual((updated.returncode, "W:" in updated.stderr), (0, False), updated.stderr)
        self.assertEqual(self.apt("download", "carillon").returncode, 0)
        self.assertEqual((self.folder / "apt" / self.deb.name).read_bytes(), self.deb.read_bytes())

    def test_apt_refuses_a_package_with_a_changed_byte(self):
        self.assertEqual(self.apt("update").returncode, 0)
        with (self.folder / f"out/repository/pool/main/{self.deb.name}").open("r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.write(b"x")
        refused = self.apt("download", "carillon")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("Hash Sum mismatch", refused.stdout + refused.stderr)

    def test_apt_refuses_an_index_with_a_changed_byte(self):
        for name in ["Packages", "Packages.gz"]:
            path = self.folder / f"out/repository/dists/stable/main/binary-amd64/{name}"
            path.write_bytes(path.read_bytes() + b"\n")
        self.assertNotEqual(self.apt("update").returncode, 0)

    def test_apt_refuses_another_key(self):
        self.gpg("--passphrase", "", "--quick-generate-key", "other@example.com", "ed25519", "sign", "never")
        other = self.folder / "other.gpg"
        self.gpg("--export", "--output", str(other), "other@example.com")
        self.assertNotEqual(self.apt("update", source=f"[arch=amd64 signed-by={other}]").returncode, 0)

    def test_a_release_contains_an_older_version_too(self):
        self.write("source/DEBIAN/control", (self.folder / "source/DEBIAN/control").read_text().replace("0.2.0", "0.1.0"))
        run("dpkg-deb", "--root-owner-group", "--build", self.folder / "source", self.folder / "out/carillon_0.1.0_amd64.deb")
        self.sign()
        self.assertEqual(self.apt("update").returncode, 0)
        self.assertEqual(self.apt("download", "carillon=0.1.0").returncode, 0)

    def test_the_release_has_the_time_of_its_newest_package(self):
        # apt ignores a Release that is older than the one that it has.
        self.write("source/DEBIAN/control", (self.folder / "source/DEBIAN/control").read_text().replace("0.2.0", "0.1.0"))
        older = self.folder / "out/carillon_0.1.0_amd64.deb"
        run("dpkg-deb", "--root-owner-group", "--build", self.folder / "source", older)
        os.utime(older, (1795000000, 1795000000))
        os.utime(self.folder / "out" / self.deb.name, (1795648000, 1795648000))
        self.sign()
        release = (self.folder / "out/repository/dists/stable/Release").read_text()
        self.assertIn("Date: Wed, 25 Nov 2026 23:06:40 +0000\n", release)

    def test_a_key_that_gpg_does_not_have_is_refused(self):
        refused = subprocess.run(
            [PACKAGING / "sign", self.folder / "out", "nobody@example.com"], env=self.environment, capture_output=True, text=True)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("no secret key nobody@example.com", refused.stderr)


@unittest.skipUnless(shutil.which("dpkg-query"), "the base of an image is a Debian")
class ImageTests(WithFolder):
    def test_the_sbom_of_an_image_names_its_base_and_each_debian_package(self):
        program = self.write("program", "")
        os.utime(program, (1795648000, 1795648000))
        document = json.loads(run("sh", PACKAGING / "image/sbom", 'registry/debian:"12"', program))
        self.assertEqual(document["creationInfo"]["created"], "2026-11-25T23:06:40Z")
        packages = {package["SPDXID"]: package for package in document["packages"]}
        self.assertEqual(packages["SPDXRef-Base"]["name"], 'registry/debian:"12"')
        installed = run("dpkg-query", "--show", "--showformat", "${Version}", "dpkg")
        self.assertEqual(packages["SPDXRef-Debian-dpkg"]["versionInfo"], installed)
        self.assertIn("GPL-2", packages["SPDXRef-Debian-dpkg"]["licenseComments"])
        # Each package is in the image, and each relation is one of a package.
        related = {relation["relatedSpdxElement"] for relation in document["relationships"]}
        self.assertEqual(related, set(packages))


class ProvenanceTests(WithFolder):
    def test_the_statement_has_each_file_with_its_checksum(self):
        self.write("out/carillon.deb", "package\n")
        self.write("out/SHA256SUMS", "sums\n")
        self.write("Package.resolved", json.dumps({"pins": [{
            "identity": "swift-log", "location": "https://example.com/swift-log",
            "state": {"version": "1.16.2", "revision": "abc"}}]}))
        run(PACKAGING / "provenance", self.folder, self.folder / "out", "0.2.0", "0123456789abcdef0123456789abcdef01234567", "--check",
            env={**os.environ, "SOURCE_DATE_EPOCH": "1795648000"})
        statement = json.loads((self.folder / "out/carillon-0.2.0.intoto.json").read_text())
        self.assertEqual(statement["_type"], "https://in-toto.io/Statement/v1")
        self.assertEqual(statement["predicateType"], "https://slsa.dev/provenance/v1")
        checksum = run("sha256sum", self.folder / "out/carillon.deb").split()[0]
        self.assertEqual(statement["subject"], [{"name": "carillon.deb", "digest": {"sha256": checksum}}])
        definition = statement["predicate"]["buildDefinition"]
        self.assertEqual(definition["externalParameters"]["options"], ["--check"])
        # script/reproduce builds in a folder whose path is as long.
        self.assertEqual(definition["internalParameters"], {"pathLength": len(str(self.folder))})
        names = [each["uri"] for each in definition["resolvedDependencies"]]
        self.assertIn("git+https://example.com/swift-log@1.16.2", names)
        self.assertTrue(any(name.startswith("pkg:generic/swift@6") for name in names))
        self.assertEqual(statement["predicate"]["runDetails"]["metadata"]["startedOn"], "2026-11-25T23:06:40Z")


class InputsTests(WithFolder):
    def build(self, name, compiler, sqlite):
        dependencies = [
            {"uri": "pkg:generic/carillon", "digest": {"gitCommit": "abc"}}, {"uri": f"pkg:generic/swift@{compiler}"},
            {"uri": "git+https://example.com/swift-log@1.16.2", "digest": {"gitCommit": "def"}}]
        self.write(f"{name}/carillon-0.2.0.intoto.json", json.dumps(
            {"predicate": {"buildDefinition": {"resolvedDependencies": dependencies}}}))
        self.write(f"{name}/carillon_0.2.0_amd64.spdx.json", json.dumps({"packages": [{"name": "libpq5", "versionInfo": "15"}]}))
        self.write(f"{name}/carillon-0.2.0-linux-x86_64.spdx.json", json.dumps(
            {"packages": [{"name": "sqlite3", "versionInfo": sqlite}] if sqlite else []}))
        return self.folder / name

    def test_what_two_builds_were_made_with_is_named_if_it_differs(self):
        first, second = self.build("first", "6.3.1", "3.40.1"), self.build("second", "6.2.0", None)
        self.assertEqual(run(PACKAGING / "inputs", first, first), "")
        self.assertEqual(run(PACKAGING / "inputs", first, second).splitlines(), [
            "made with  sqlite3 3.40.1, and here with (none)", "made with  swift 6.3.1, and here with 6.2.0"])


if __name__ == "__main__":
    unittest.main()
