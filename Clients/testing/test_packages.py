"""Installs each package of script/testing-packages into an empty folder, as its page says, and starts a service with it.

usage: PACKAGES=FOLDER CARILLON=PROGRAM python3 -m unittest discover --start-directory Clients/testing

PACKAGES is what script/testing-packages made. The packages for Go and Java have no program inside: they take CARILLON.
"""

import html.parser
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PACKAGES = Path(os.environ["PACKAGES"]).resolve()
# A package with the program inside must not find another one.
WITHOUT = {name: value for name, value in os.environ.items() if name != "CARILLON"}
JUNIT = [Path("/usr/share/java", f"{name}.jar") for name in ("junit-jupiter-api", "junit-platform-commons", "opentest4j")]


def run(*command, folder, environment=WITHOUT):
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise AssertionError(f"{command[0]} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


class Links(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.targets = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "a":
            self.targets.append(dict(attributes)["href"])


class PackagesTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def test_the_page_names_all_packages(self):
        targets = Links((PACKAGES / "index.html").read_text()).targets
        self.assertEqual(len(targets), len({path.name for path in PACKAGES.iterdir()} - {"index.html"}))
        for target in targets:
            self.assertTrue((PACKAGES / target).exists(), target)

    def test_pip_finds_the_wheel_in_the_folder(self):
        run(sys.executable, "-m", "venv", "--without-pip", self.folder / "python", folder=self.folder)
        python = self.folder / "python/bin/python3"
        run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--find-links", PACKAGES,
            "carillon-testing", folder=self.folder)
        self.write("try.py", "from carillon_testing import Carillon\nwith Carillon.start() as service, service.team() as apns:\n    print(apns.url)\n")
        self.assertIn("https://", run(python, "try.py", folder=self.folder))

    @unittest.skipUnless(shutil.which("npm"), "there is no npm")
    def test_npm_installs_the_file(self):
        (package,) = PACKAGES.glob("*.tgz")
        self.write("package.json", '{"private": true, "type": "module"}')
        run("npm", "install", "--offline", "--no-audit", "--no-fund", package, folder=self.folder)
        self.write("try.test.js", """
            import test from 'node:test';
            import assert from 'node:assert';
            import { team } from 'carillon-testing';
            test('a team', async (t) => assert.match((await team(t)).url, /^https:/));
            """)
        run("node", "--test", folder=self.folder)

    @unittest.skipUnless(shutil.which("go"), "there is no go")
    def test_go_replaces_the_module_by_the_folder(self):
        (module,) = PACKAGES.glob("carillontest-*")
        version = module.name.partition("-")[2]
        self.write("go.mod", "module example.com/shop\n\ngo 1.19\n")
        run("go", "mod", "edit", "-require", f"carillon.example/carillontest@v{version}",
            "-replace", f"carillon.example/carillontest={module}", folder=self.folder)
        self.write("shop_test.go", """package shop

            import (
                "testing"
                "carillon.example/carillontest"
            )

            func TestATeam(t *testing.T) {
                if carillontest.New(t).URL == "" {
                    t.Fatal("there is no URL")
                }
            }
            """)
        run("go", "test", "./...", folder=self.folder, environment={**os.environ, "GOFLAGS": "-mod=mod", "GOPROXY": "off"})

    @unittest.skipUnless((PACKAGES / "maven").exists() and shutil.which("java"), "there is no package for Java")
    def test_the_jar_in_mavens_repository_runs(self):
        (jar,) = (PACKAGES / "maven").rglob("*.jar")
        group, name, version = re.fullmatch(r"(.+)/(.+)/(.+)", str(jar.parent.relative_to(PACKAGES / "maven"))).groups()
        self.assertEqual(jar.name, f"{name}-{version}.jar")
        self.assertIn(f"<groupId>{group}</groupId>", jar.with_suffix(".pom").read_text())
        self.write("Try.java", """
            import carillon.testing.Carillon;
            public class Try {
                public static void main(String[] arguments) throws Exception {
                    try (var service = Carillon.start(); var apns = service.team()) { System.out.println(apns.url()); }
                }
            }
            """)
        path = ":".join(map(str, [jar, *JUNIT]))
        self.assertIn("https://", run("java", "-cp", path, "Try.java", folder=self.folder, environment=dict(os.environ)))


if __name__ == "__main__":
    unittest.main()
