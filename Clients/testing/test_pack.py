"""What script/testing-packages takes from an archive, and what it refuses. The program is a stand-in, so nothing is started."""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
VERSION = json.loads((HERE / "node/package.json").read_text())["version"]
X86_64, AARCH64 = 62, 183


class PackTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def stand_in(self, processor):
        """A program that needs glibc 2.34, for this processor."""
        # Threads came into libc with 2.34.
        (self.folder / "carillon.c").write_text("#include <pthread.h>\nint main(void) { return pthread_create(0, 0, 0, 0); }\n")
        program = self.folder / "carillon"
        subprocess.run([os.environ.get("CC", "cc"), "-o", program, self.folder / "carillon.c"], check=True)
        content = bytearray(program.read_bytes())
        content[18:20] = processor.to_bytes(2, "little")
        program.write_bytes(content)
        return program

    def archive(self, processor, version=VERSION, licenses=True):
        path = self.folder / f"carillon-{version}.tar.gz"
        (self.folder / "licenses.txt").write_text("Licences\n")
        with tarfile.open(path, "w:gz") as archive:
            archive.add(self.stand_in(processor), f"carillon-{version}/bin/carillon")
            if licenses:
                archive.add(self.folder / "licenses.txt", f"carillon-{version}/share/doc/carillon/licenses.txt")
        return path

    def pack(self, *arguments):
        """Runs the script. Returns its status, and what it printed."""
        done = subprocess.run(
            [sys.executable, str(HERE / "pack.py"), "--out", str(self.folder / "out"), *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def test_an_archive_of_each_processor_says_so_and_glibc_2_34(self):
        for processor, machine, cpu in ((X86_64, "x86_64", "x64"), (AARCH64, "aarch64", "arm64")):
            with self.subTest(machine=machine):
                archive = self.archive(processor)
                status, wheel = self.pack("--only", "wheel", archive)
                self.assertEqual(status, 0, wheel)
                self.assertEqual(Path(wheel.strip()).name, f"carillon_testing-{VERSION}-py3-none-manylinux_2_34_{machine}.whl")
                status, package = self.pack("--only", "npm", archive)
                self.assertEqual(status, 0, package)
                with tarfile.open(package.strip()) as made:
                    description = json.load(made.extractfile("package/package.json"))
                    self.assertEqual(made.extractfile("package/licenses.txt").read(), b"Licences\n")
                self.assertEqual((description["os"], description["cpu"]), (["linux"], [cpu]))

    def test_an_archive_of_another_version_is_refused(self):
        status, output = self.pack(self.archive(X86_64, "0.1.9"))
        self.assertEqual(status, 1)
        self.assertIn(f"is Carillon 0.1.9, and the packages are {VERSION}: take the archive of this version", output)
        self.assertFalse((self.folder / "out").exists())

    def test_an_archive_of_a_commit_has_its_releases_version(self):
        status, output = self.pack("--only", "wheel", self.archive(X86_64, VERSION + "+git20261129.abc"))
        self.assertEqual(status, 0, output)

    def test_an_archive_without_licences_is_refused(self):
        status, output = self.pack(self.archive(X86_64, licenses=False))
        self.assertEqual(status, 1)
        self.assertIn("it is no archive of script/package", output)

    def test_a_program_of_another_version_or_machine_is_refused_and_other_files_too(self):
        old = self.folder / "old"
        old.write_bytes(self.stand_in(AARCH64).read_bytes())
        self.assertIn("does not run here, so nobody knows its version: name the archive", self.pack(old)[1])
        old.write_text("#!/bin/sh\necho 0.1.9\n")
        self.assertIn("is not a program of Linux or macOS", self.pack(old)[1])


if __name__ == "__main__":
    unittest.main()
