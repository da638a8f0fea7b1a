"""Makes packages with a program and its libraries inside, and prints their paths: see script/testing-packages.

A wheel is a ZIP file and a package for npm is a tar archive, each with a few files of text, so this needs no tools from
elsewhere. The same files make the same packages.
"""

import argparse
import base64
import gzip
import hashlib
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
# Parts of glibc, which every machine of the wheel's platform has.
SYSTEM = re.compile(r"(ld-linux.*|libc|libm|libdl|librt|libpthread|libresolv|libutil|libanl|libnss_.*)\.so.*")


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def libraries(program):
    """The libraries that the program needs and that are not part of the system."""
    found = []
    for line in output("ldd", program).splitlines():
        match = re.match(r"\s*(\S+) => (\S+)", line)
        if match is None:
            continue
        if match[2] == "not":
            sys.exit(f"pack.py: {program} needs {match[1]}, which is not on this machine")
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


def add_program(command, programs, shared):
    """Puts the program and its libraries into these folders, without debug symbols. Returns their paths."""
    files = [(command, programs / "carillon"), *((path, shared / name) for name, path in libraries(command))]
    for source, target in files:
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["objcopy", "--strip-unneeded", str(source.resolve()), str(target)], check=True)
        target.chmod(0o755)
    return [target for _, target in files]


def add_licenses(root, command, folder):
    """Puts our own licence there, and those of what is inside the program, if it is the program of script/package's archive."""
    shutil.copy(root / "LICENSE", folder / "LICENSE")
    inside = command.resolve().parent.parent / "share/doc/carillon/licenses.txt"
    if inside.exists():
        shutil.copy(inside, folder / "licenses.txt")


def write_wheel(root, command, folder, version, level):
    metadata = (HERE / "python/pyproject.toml").read_text()
    if f'version = "{version}"' not in metadata:
        sys.exit(f"pack.py: set the version of pyproject.toml to {version}")
    with tempfile.TemporaryDirectory() as work:
        tree = Path(work)
        package = tree / "carillon_testing"
        shutil.copytree(HERE / "python/carillon_testing", package, ignore=shutil.ignore_patterns("__pycache__", "bin", "lib"))
        programs = add_program(command, package / "bin", package / "lib")
        if platform.system() == "Linux":
            tag = "py3-none-manylinux_{}_{}_{}".format(*glibc(programs), platform.machine())
        else:
            tag = f"py3-none-macosx_{platform.mac_ver()[0].split('.')[0]}_0_{platform.machine()}"
        info = tree / f"carillon_testing-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: carillon-testing\nVersion: {version}\n"
            f"Summary: {re.search('description = .(.*).', metadata)[1]}\nLicense: Apache-2.0\nRequires-Python: >=3.8\n"
            "Classifier: Framework :: Pytest\nDescription-Content-Type: text/markdown\n\n"
            + (HERE / "python/README.md").read_text())
        (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: carillon\nRoot-Is-Purelib: false\nTag: {tag}\n")
        (info / "entry_points.txt").write_text("[pytest11]\ncarillon = carillon_testing.pytest_plugin\n")
        add_licenses(root, command, info)
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


def write_npm(root, command, folder, version, level):
    with tempfile.TemporaryDirectory() as work:
        tree = Path(work)
        description = json.loads((HERE / "node/package.json").read_text())
        if description["version"] != version:
            sys.exit(f"pack.py: set the version of package.json to {version}")
        # npm refuses it on other machines.
        description["os"] = [sys.platform]
        description["cpu"] = [{"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())]
        (tree / "package.json").write_text(json.dumps(description, indent=2) + "\n")
        shutil.copytree(HERE / "node/lib", tree / "lib")
        shutil.copy(HERE / "node/README.md", tree / "README.md")
        add_licenses(root, command, tree)
        programs = add_program(command, tree / "bin", tree / "libraries")
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


def main():
    root = HERE.parent.parent
    arguments = argparse.ArgumentParser(prog="script/testing-packages")
    arguments.add_argument("--out", type=Path, default=root / ".build/testing-packages")
    arguments.add_argument("--only", choices=["wheel", "npm"])
    arguments.add_argument("--uncompressed", action="store_true")
    arguments.add_argument("command", type=Path, nargs="?", default=root / ".build/release/carillon")
    given = arguments.parse_args()
    if not given.command.exists():
        sys.exit(f"script/testing-packages: there is no program {given.command}: build it with script/release carillon, "
                 "or name another")
    version = re.search(r'number = "(.*)"', (root / "Sources/Shared/CommandSupport/Version.swift").read_text())[1]
    given.out.mkdir(parents=True, exist_ok=True)
    for kind, write in (("wheel", write_wheel), ("npm", write_npm)):
        if given.only in (None, kind):
            print(write(root, given.command, given.out, version, 0 if given.uncompressed else 6))


if __name__ == "__main__":
    main()
