"""Runs the devices and providers of the measurements, which are the programs of Benchmarks/load."""

import json
import subprocess


class Trust:
    """The authority that a client trusts, and its own certificates."""

    def __init__(self, authority, chains=None, key=None):
        self.options = ["-ca", authority] + (["-chains", chains, "-key", key] if chains else [])


class Fleet:
    """Connected devices, until the end of a `with`."""

    def __init__(self, program, kind, port, trust, count, channel="", first=0, yields=False):
        """With `yields` the devices run only while nobody else needs a processor: real ones have processors of their own."""
        command = ["chrt", "--idle", "0"] if yields else []
        command += [program, "devices", "-kind", kind, "-address", f"127.0.0.1:{port}", "-count", str(count),
                   "-first", str(first)]
        if channel:
            command += ["-channel", channel]
        self.process = subprocess.Popen(
            command + trust.options, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"bench: the devices are gone ({self.process.wait()})")
        return json.loads(line)

    def wait_for(self, count, seconds):
        """Waits until the devices have received so many notifications since the last report, or for that time. Returns a
        report: the number of notifications, and their latencies in seconds."""
        self.process.stdin.write(f"await {count} {seconds}\n")
        self.process.stdin.flush()
        return self.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.communicate("end\n")


def push(program, kind, port, trust, count, paths, token="", connections=8, window=25, rate=0, expiration="",
         channel=""):
    """Sends to one device after the other, or to a channel. Returns the seconds until all were answered."""
    command = [
        program, "push", "-kind", kind, "-address", f"127.0.0.1:{port}", "-count", str(count), "-paths", paths,
        "-connections", str(connections), "-window", str(window), "-rate", str(rate), "-token", token,
        "-expiration", expiration, "-channel", channel, *trust.options,
    ]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        raise SystemExit(f"bench: sending failed: {result.stderr}")
    return json.loads(result.stdout)["seconds"]
