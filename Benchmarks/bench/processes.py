"""Starts a server that is to be measured, waits until it is ready, reads its CPU and memory from /proc, and ends it."""

import os
import signal
import socket
import subprocess
import time

TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """A process that is measured. Its output goes to a file in the work folder."""

    def __init__(self, name, command, port, log, env=None):
        self.name, self.port = name, port
        self.log = log
        with open(log, "ab") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env={**os.environ, **(env or {})}
            )
        self.pid = self.process.pid

    def wait_for_port(self, seconds=30):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self
            except OSError:
                time.sleep(0.05)
        self.stop()
        raise SystemExit(f"bench: {self.name} does not listen on {self.port}; see {self.log}")

    def cpu(self):
        """The seconds of CPU time since the start of the process, in user and kernel mode, of all threads."""
        with open(f"/proc/{self.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def status(self, key):
        with open(f"/proc/{self.pid}/status") as file:
            for line in file:
                if line.startswith(key + ":"):
                    return int(line.split()[1])
        return 0

    def resident(self):
        """The bytes of resident memory."""
        return self.status("VmRSS") * 1024

    def threads(self):
        return self.status("Threads")

    def open_files(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(*command, **options):
    """Runs a program to its end, and returns its output as text."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if result.returncode != 0:
        raise SystemExit(f"bench: {command[0]} failed\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
    return result.stdout
