"""Finds the program `carillon`, starts it, and ends it."""

import atexit
import json
import os
import platform
import re
import select
import shutil
import subprocess
import tempfile
import time
import weakref
from pathlib import Path

from .errors import CarillonError

_FOLDER = Path(__file__).parent

# The oldest Carillon that this package works with.
OLDEST = "0.2.0"

# The ready line has some thousand bytes. A program that prints more is another one.
_LONGEST_LINE = 1 << 20

_programs = weakref.WeakSet()


def _forget_programs():
    """Closes a forked process's ends of the pipes: the service ends with the process that has started it."""
    for program in list(_programs):
        program.forget()


os.register_at_fork(after_in_child=_forget_programs)


def find():
    """The path of `carillon`: from the variable CARILLON, inside this package, or on the path."""
    named = os.environ.get("CARILLON")
    if named:
        path = shutil.which(named)
        if path is None:
            raise CarillonError(f"CARILLON names {named}, which is not a program: correct the variable, or remove it.")
        return path
    inside = _FOLDER / "bin" / "carillon"
    if inside.exists():
        return str(inside)
    path = shutil.which("carillon")
    if path is None:
        raise CarillonError(
            "There is no program carillon: install the wheel that contains it, put it on the path, or name it in the variable "
            "CARILLON; or set CARILLON_MANAGEMENT_URL to use a service that runs already.")
    return path


def _environment(path):
    # The service of a test has the settings that the test names, and no others.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CARILLON")}
    # Close the connections that clients have left open, instead of waiting for them.
    environment["CARILLON_LIMIT_SHUTDOWN_TIMEOUT"] = "1"
    libraries = _FOLDER / "lib"
    if path == str(_FOLDER / "bin" / "carillon") and libraries.exists():
        before = environment.get("LD_LIBRARY_PATH")
        environment["LD_LIBRARY_PATH"] = str(libraries) + (os.pathsep + before if before else "")
    return environment


def _version(path):
    """The version of a program, if it is Carillon's; otherwise None."""
    try:
        process = subprocess.Popen(
            [path, "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=_environment(path))
    except OSError:
        return None
    said, deadline = b"", time.monotonic() + 5
    # It may print for ever, and a child of it may keep its output open.
    with process.stdout:
        while len(said) < 200 and select.select([process.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
            piece = os.read(process.stdout.fileno(), 200)
            if not piece:
                break
            said += piece
    process.kill()
    process.wait()
    match = re.fullmatch(r"(\d+\.\d+\.\d+)(-\S+)?( \(.*\))?\s*", said.decode(errors="replace"))
    return match and match[1]


def _missing(said):
    """What this system lacks, and what to do, if the system's loader says that it cannot load a program; otherwise None."""
    library = re.search(r"error while loading shared libraries: ([^:\s]+)", said)
    if library and "GLIBC" not in said:
        return (f"the library {library[1]}: install it, or take the program of a release's archive, which has its libraries "
                "inside")
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", said)
    if versions:
        newest = max((int(major), int(minor)) for major, minor in versions)
        return "glibc {}.{} or newer: take a newer system, such as the image of Debian 12 or Ubuntu 22.04".format(*newest)
    return None


def _not_started(path, happened, said):
    """The error of a program that is not a service; `happened` is what it did."""
    missing = _missing(said)
    if missing:
        return CarillonError(f"{path} cannot be started, because this system lacks {missing}.{said}")
    version = _version(path)
    advice = ("correct the variable CARILLON, or remove it" if os.environ.get("CARILLON")
              else "name Carillon's in the variable CARILLON")
    if version is None:
        return CarillonError(f"{path} is not Carillon's program, and {happened}: {advice}.{said}")
    if [int(part) for part in version.split(".")] < [int(part) for part in OLDEST.split(".")]:
        return CarillonError(f"{path} is Carillon {version}, and this package needs {OLDEST} or newer: {advice}.{said}")
    return CarillonError(f"{path} did not start: it {happened}.{said}")


class Program:
    """A running `carillon serve`, which ends with this process, also if this process is killed."""

    def __init__(self, options, timeout):
        path = find()
        command = [
            path, "serve", "--store", "memory", "--ports", "ephemeral", "--json", "--until-input-ends",
            "--log-level", "warning", *options]
        self._owner = os.getpid()
        # A file, because nobody reads a pipe while the tests run.
        self._log = tempfile.TemporaryFile()
        try:
            # The service ends when its standard input ends: the system closes the pipe with this process.
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, env=_environment(path))
        except OSError as error:
            self._log.close()
            raise CarillonError(f"{path} cannot be started on this machine ({platform.machine()}): {error.strerror}. "
                                "Install the wheel for this machine, or name another program in the variable CARILLON.")
        _programs.add(self)
        atexit.register(self.close)
        try:
            self.ready = self._read_ready(path, timeout)
        except BaseException:
            self.close(now=True)
            raise

    def _read_ready(self, path, timeout):
        output = self._process.stdout.fileno()
        deadline = time.monotonic() + timeout
        text = b""
        while not text.endswith(b"\n"):
            readable, _, _ = select.select([output], [], [], max(0, deadline - time.monotonic()))
            if not readable:
                raise _not_started(
                    path, f"was not ready within {timeout:g} s; if it is slow, give it a longer start_timeout", self.log())
            piece = os.read(output, 65536)
            if not piece:
                status = self._end()
                raise _not_started(path, f"ended ({_ending(status)})", self.log())
            text += piece
            if len(text) > _LONGEST_LINE:
                break  # The service prints one line.
        try:
            ready = json.loads(text)
            if ready["event"] == "ready":
                return ready
        except (ValueError, KeyError, TypeError):
            pass
        raise _not_started(path, f"printed {text[:200].decode(errors='replace')!r}", self.log())

    def ending(self):
        """A sentence about the end of the program; None if it runs."""
        try:
            # A connection may break before the end of the process is reported.
            status = self._process.wait(1)
        except subprocess.TimeoutExpired:
            return None
        return f"The Carillon of this test run has ended ({_ending(status)}): run the tests again.{self.log()}"

    def log(self):
        """The last lines of the log, below a text about it."""
        if self._log.closed:
            return ""
        # The program writes at the position of this file, so do not move it.
        log = self._log.fileno()
        text = os.pread(log, 2000, max(0, os.fstat(log).st_size - 2000))
        lines = text.decode(errors="replace").strip().splitlines()[-8:]
        return " It said:\n  " + "\n  ".join(lines) if lines else ""

    def forget(self):
        """Closes this process's end of the pipes, and leaves the program alone: for a forked process."""
        self._process.stdin.close()
        self._process.stdout.close()

    def close(self, now=False):
        """Ends the program, and waits for its end."""
        # A process that was forked from this one does not end it.
        if self._log.closed or os.getpid() != self._owner:
            return
        atexit.unregister(self.close)
        self._end(0 if now else 15)
        self._process.stdout.close()
        self._log.close()

    def _end(self, limit=15):
        """Ends the program, at once if it has not ended after the limit in seconds. Returns its status."""
        try:
            self._process.stdin.close()
        except OSError:
            pass  # It has ended.
        for end in (self._process.terminate, self._process.kill):
            try:
                return self._process.wait(min(limit, 3) if end == self._process.terminate else limit)
            except subprocess.TimeoutExpired:
                end()  # Another process may have its input open.
        return self._process.wait()


def _ending(status):
    return f"signal {-status}" if status < 0 else f"exit status {status}"
