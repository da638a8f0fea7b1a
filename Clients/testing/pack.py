"""Makes the packages for test suites, and prints their paths: see script/testing-packages.

A wheel is a ZIP file and a package for npm is a tar archive, each with a few files of text, so this needs no tools from
elsewhere but a Java compiler for the JAR. The same files make the same packages.
"""

import argparse
import base64
import contextlib
import gzip
import hashlib
import html
import json
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Parts of glibc, and the compiler's library, which every machine of the wheel's platform has (PEP 600).
SYSTEM = re.compile(r"(ld-linux.*|libc|libm|libdl|librt|libpthread|libresolv|libutil|libanl|libnss_.*|libgcc_s)\.so.*")
# Where JUnit's interfaces are on Debian. The JAR is compiled with them, and does not contain them.
JUNIT = [Path("/usr/share/java", f"{name}.jar") for name in (
    "junit-jupiter-api", "junit-platform-commons", "opentest4j", "apiguardian-api")]

# Where an archive of script/package has the licences of what is inside its program.
LICENSES = Path("share/doc/carillon/licenses.txt")
# The numbers of processors in an ELF header.
MACHINES = {62: "x86_64", 183: "aarch64"}


def fail(text):
    sys.exit(f"script/testing-packages: {text}")


def output(*command):
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True).stdout


class Program:
    """The program to put into the packages: a file, or the one in an archive of script/package, which is in a folder."""

    def __init__(self, path, archive=None):
        self.path, self.archive = path, archive
        with open(path, "rb") as file:
            header = file.read(20)
        if header[:4] == b"\x7fELF" and header[5] == 1:
            number = int.from_bytes(header[18:20], "little")
            self.system, self.machine = "linux", MACHINES.get(number, f"processor {number}")
        elif header[:4] == b"\xcf\xfa\xed\xfe":
            self.system, self.machine = "darwin", {0x01000007: "x86_64", 0x0100000C: "arm64"}[int.from_bytes(header[4:8], "little")]
        else:
            fail(f"{path} is not a program of Linux or macOS")
        #: Whether this machine's tools can read it, and whether it runs here.
        self.is_native = (self.system, self.machine) == (sys.platform, platform.machine())

    def version(self):
        """The number of its version. An archive has it in its folder's name, because its program may be another machine's."""
        if self.archive is not None:
            said = self.path.parent.parent.name.partition("-")[2]
        elif self.is_native:
            said = output(self.path, "--version")
        else:
            fail(f"{self.path} does not run here, so nobody knows its version: name the archive that it is from")
        number = re.match(r"\d+\.\d+\.\d+", said)
        return number and number[0]

    def libraries(self):
        """The libraries that the program needs and that are not part of the system, with their paths."""
        if self.system != "linux":
            return []
        needed = re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "--dynamic", "--wide", self.path))
        needed = [name for name in needed if not SYSTEM.fullmatch(name)]
        if not needed:
            return []
        if not self.is_native:
            fail(f"{self.path} needs {needed[0]}, which this machine does not have for {self.machine}: take an archive's program")
        found = []
        for line in output("ldd", self.path).splitlines():
            match = re.match(r"\s*(\S+) => (\S+)", line)
            if match is None:
                continue
            if match[2] == "not":
                fail(f"{self.path} needs {match[1]}, which is not on this machine")
            if not SYSTEM.fullmatch(match[1]):
                found.append((match[1], Path(match[2])))
        return found


def glibc(files):
    """The oldest version of glibc that has all that these files need."""
    versions = {(2, 17)}
    for file in files:
        needs = output("readelf", "--version-info", "--wide", str(file))
        for major, minor in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", needs):
            versions.add((int(major), int(minor)))
        # Packed relocations, which have no number.
        if "GLIBC_ABI_DT_RELR" in needs:
            versions.add((2, 36))
    return max(versions)


def add_program(program, programs, shared):
    """Puts the program and its libraries into these folders, without debug symbols. Returns their paths."""
    files = [(program.path, programs / "carillon"), *((path, shared / name) for name, path in program.libraries())]
    for source, target in files:
        target.parent.mkdir(parents=True, exist_ok=True)
        # The program of an archive has no symbols, and may be another machine's, which objcopy does not know.
        if program.archive is None and program.is_native and program.system == "linux":
            subprocess.run(["objcopy", "--strip-unneeded", str(source.resolve()), str(target)], check=True)
        else:
            shutil.copy(source, target)
        target.chmod(0o755)
    return [target for _, target in files]


def add_licenses(root, program, folder):
    """Puts our own licence there, and those of what is inside the program, if it is the program of script/package's archive."""
    shutil.copy(root / "LICENSE", folder / "LICENSE")
    if program.archive is not None:
        shutil.copy(program.path.parent.parent / LICENSES, folder / "licenses.txt")


def write_wheel(root, program, folder, version, level):
    metadata = (HERE / "python/pyproject.toml").read_text()
    if f'version = "{version}"' not in metadata:
        fail(f"set the version of pyproject.toml to {version}")
    with tempfile.TemporaryDirectory() as work:
        tree = Path(work)
        package = tree / "carillon_testing"
        shutil.copytree(HERE / "python/carillon_testing", package, ignore=shutil.ignore_patterns("__pycache__", "bin", "lib"))
        programs = add_program(program, package / "bin", package / "lib")
        if program.system == "linux":
            tag = "py3-none-manylinux_{}_{}_{}".format(*glibc(programs), program.machine)
        else:
            tag = f"py3-none-macosx_{platform.mac_ver()[0].split('.')[0]}_0_{program.machine}"
        info = tree / f"carillon_testing-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: carillon-testing\nVersion: {version}\n"
            f"Summary: {re.search('description = .(.*).', metadata)[1]}\nLicense: Apache-2.0\nRequires-Python: >=3.8\n"
            "Classifier: Framework :: Pytest\nDescription-Content-Type: text/markdown\n\n"
            + (HERE / "python/README.md").read_text())
        (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: carillon\nRoot-Is-Purelib: false\nTag: {tag}\n")
        (info / "entry_points.txt").write_text("[pytest11]\ncarillon = carillon_testing.pytest_plugin\n")
        add_licenses(root, program, info)
        record = info / "RECORD"
        lines = []
        files = sorted(path for path in tree.rglob("*") if path.is_file())
        for path in files:
            content = path.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines.append(f"{path.relative_to(tree)},sha256={digest},{len(content)}")
        record.write_text("\n".join([*lines, f"{record.relative_to(tree)},,"]) + "\n")
        wheel = folder / f"carillon_testing-{version}-{tag}.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            for path in [*files, record]:
                entry = zipfile.ZipInfo(str(path.relative_to(tree)), (1980, 1, 1, 0, 0, 0))
                entry.external_attr = (0o100755 if path in programs else 0o100644) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes(), compresslevel=level)
    return wheel


def write_npm(root, program, folder, version, level):
    with tempfile.TemporaryDirectory() as work:
        tree = Path(work)
        description = json.loads((HERE / "node/package.json").read_text())
        if description["version"] != version:
            fail(f"set the version of package.json to {version}")
        # npm refuses it on other machines.
        description["os"] = [program.system]
        description["cpu"] = [{"x86_64": "x64", "aarch64": "arm64"}.get(program.machine, program.machine)]
        (tree / "package.json").write_text(json.dumps(description, indent=2) + "\n")
        shutil.copytree(HERE / "node/lib", tree / "lib")
        shutil.copy(HERE / "node/README.md", tree / "README.md")
        add_licenses(root, program, tree)
        programs = add_program(program, tree / "bin", tree / "libraries")
        archive_path = folder / f"carillon-testing-{version}.tgz"
        with gzip.GzipFile(archive_path, "wb", compresslevel=level, mtime=0) as compressed:
            with tarfile.open(fileobj=compressed, mode="w") as archive:
                for path in sorted(path for path in tree.rglob("*") if path.is_file()):
                    entry = tarfile.TarInfo("package/" + str(path.relative_to(tree)))
                    entry.size = path.stat().st_size
                    entry.mode = 0o755 if path in programs else 0o644
                    with open(path, "rb") as file:
                        archive.addfile(entry, file)
    return archive_path


def write_go(_root, _program, folder, version, _level):
    """The module as a folder, which `replace` in go.mod names. It has no program inside."""
    module = folder / f"carillontest-{version}"
    shutil.rmtree(module, ignore_errors=True)
    shutil.copytree(HERE / "go", module, ignore=shutil.ignore_patterns("*_test.go"))
    return module


def write_maven(root, _program, folder, version, level):
    """A file repository of Maven's with the JAR, which has no program inside."""
    description = (HERE / "java/pom.xml").read_text()
    if f"<artifactId>carillon-testing</artifactId>\n  <version>{version}</version>" not in description:
        fail(f"set the version of pom.xml to {version}")
    repository = folder / "maven"
    place = repository / "carillon/carillon-testing" / version
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    (place / f"carillon-testing-{version}.pom").write_text(description)
    with tempfile.TemporaryDirectory() as work:
        classes = Path(work)
        sources = sorted((HERE / "java/src/main/java").rglob("*.java"))
        subprocess.run(
            ["javac", "--release", "17", "-cp", ":".join(map(str, JUNIT)), "-d", classes, *sources], check=True)
        (classes / "META-INF").mkdir()
        (classes / "META-INF/MANIFEST.MF").write_text("Manifest-Version: 1.0\n\n")
        shutil.copy(root / "LICENSE", classes / "META-INF/LICENSE")
        with zipfile.ZipFile(place / f"carillon-testing-{version}.jar", "w") as archive:
            # Java reads a manifest only if it is the first file.
            files = sorted((path for path in classes.rglob("*") if path.is_file()), key=lambda path: (path.name != "MANIFEST.MF", path))
            for path in files:
                entry = zipfile.ZipInfo(str(path.relative_to(classes)), (1980, 1, 1, 0, 0, 0))
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes(), compresslevel=level)
    return repository


# How a suite names each package, for the page that has them all. PLACE is the folder of that page.
LINES = {
    "wheel": ("Python", "pip install --no-index --find-links PLACE carillon-testing"),
    "npm": ("Node.js", "npm install --save-dev PLACE/{name}"),
    "go": ("Go", "go mod edit -require carillon.example/carillontest@v{version} "
           "-replace carillon.example/carillontest=PLACE/{name}"),
    "maven": ("Java", "<repository><id>carillon</id><url>file:PLACE/maven</url></repository>, "
              "and the test dependency carillon:carillon-testing:{version}"),
}


def write_index(made, folder, version):
    """A page with all packages, which pip reads too (`--find-links`)."""
    rows = []
    for kind, path in made.items():
        language, line = LINES[kind]
        name = html.escape(path.name)
        link = name if path.is_file() else name + "/"
        text = html.escape(line.format(name=path.name, version=version))
        rows.append(f'<tr><td>{language}</td><td><a href="{link}">{name}</a></td><td><code>{text}</code></td></tr>')
    index = folder / "index.html"
    index.write_text(
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Carillon for test suites</title></head><body>\n'
        f"<h1>Carillon {version} for test suites</h1>\n"
        "<p>PLACE is the folder of this page. The packages for Go and Java take the program, <code>bin/carillon</code> of a release's "
        "archive, from the path, or from the variable <code>CARILLON</code>.</p>\n"
        "<table>\n<tr><th>language</th><th>package</th><th>one line</th></tr>\n" + "\n".join(rows)
        + "\n</table>\n</body></html>\n")
    return index


@contextlib.contextmanager
def opened(given):
    """The program of a file, or of an archive of script/package."""
    if not given.name.endswith(".tar.gz"):
        program = Program(given)
        print(f"script/testing-packages: warning: {given} is no archive of script/package: the packages get this machine's libraries "
              "beside it, without their licences, so do not give them to others", file=sys.stderr)
        yield program
        return
    with tempfile.TemporaryDirectory() as work:
        with tarfile.open(given) as archive:
            archive.extractall(work)
        path = next(Path(work).glob("*/bin/carillon"), None)
        if path is None or not (path.parent.parent / LICENSES).exists():
            fail(f"{given} has no bin/carillon with {LICENSES}: it is no archive of script/package")
        yield Program(path, given)


def newest_archive(root):
    """The newest archive of script/package; None if there is none."""
    archives = sorted((root / ".build/packages").glob("carillon-*.tar.gz"), key=lambda path: path.stat().st_mtime)
    return archives[-1] if archives else None


def main():
    root = HERE.parent.parent
    kinds = {"wheel": write_wheel, "npm": write_npm, "go": write_go, "maven": write_maven}
    arguments = argparse.ArgumentParser(prog="script/testing-packages")
    arguments.add_argument("--out", type=Path, default=root / ".build/testing-packages")
    arguments.add_argument("--only", choices=kinds)
    arguments.add_argument("--uncompressed", action="store_true")
    arguments.add_argument("command", type=Path, nargs="?", default=newest_archive(root))
    given = arguments.parse_args()
    if given.command is None:
        fail("there is no archive in .build/packages: make one with script/package, or name one of a release")
    if not given.command.exists():
        fail(f"there is no {given.command}")
    version = re.search(r'number = "(.*)"', (root / "Sources/Shared/CommandSupport/Version.swift").read_text())[1]
    made = {}
    with opened(given.command) as program:
        if program.version() != version:
            fail(f"{given.command} is Carillon {program.version() or 'of no version'}, and the packages are {version}: take the archive "
                 "of this version")
        given.out.mkdir(parents=True, exist_ok=True)
        for kind, write in kinds.items():
            if given.only not in (None, kind):
                continue
            if kind == "maven" and not (shutil.which("javac") and all(path.exists() for path in JUNIT)):
                print("script/testing-packages: no package for Java, because javac or Debian's junit5 is not here", file=sys.stderr)
                continue
            made[kind] = write(root, program, given.out, version, 0 if given.uncompressed else 6)
            print(made[kind])
    if given.only is None:
        print(write_index(made, given.out, version))


if __name__ == "__main__":
    main()
