"""Measures a restart with a million stored mailboxes: the time until the service is ready, the time until a device has
received its stored notification over real TLS, and the memory that this takes. script/measure restart runs this."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from frames import Connection, fields
from processes import Server, run
from tools import Tools

DEVICES = 1_000_000
STARTS = 5


class Folder:
    """Makes a data folder with registered devices, some of which have a stored notification."""

    def __init__(self, tools, work, devices, mailboxes):
        self.tools = tools
        self.folder = os.path.join(work, f"{devices}-{mailboxes}")
        self.data = os.path.join(self.folder, "data")
        os.makedirs(self.folder)
        self.start()[0].stop()
        request = tools.device_request(self.folder)
        run(tools.seed, self.data, self.folder, str(devices), "1", request, str(mailboxes))
        with open(os.path.join(self.folder, "devices.pem")) as file:
            certificates = re.findall(r"-----BEGIN.*?-----END[^\n]*\n", file.read(), re.DOTALL)
        each = len(certificates) // min(devices, 200)
        self.identities = []
        for number in range(0, len(certificates), each):
            path = os.path.join(self.folder, f"device{number}.pem")
            with open(path, "w") as file:
                file.writelines(certificates[number:number + each])
            self.identities.append(path)

    def start(self):
        """Starts the service.

        Returns it, and how many seconds passed until its ready line.
        """
        path = os.path.join(self.folder, "ready.json")
        open(path, "w").close()
        began = time.monotonic()
        server = Server(
            "carillon",
            [self.tools.carillon, "serve", "--data", self.data, "--ports", "ephemeral", "--json",
             "--environment", "production"],
            0, path)
        with open(path) as output:
            while server.process.poll() is None:
                line = output.readline()
                if line.startswith("{") and line.endswith("\n"):
                    seconds = time.monotonic() - began
                    server.courier = int(json.loads(line)["production"]["courier"].rpartition(":")[2])
                    return server, seconds
                time.sleep(0.001)
        raise SystemExit(f"carillon does not start; see {path}")

    def deliveries(self, server):
        """For each device, the milliseconds from connecting until its stored notification has come."""
        authority, key = os.path.join(self.data, "ca.pem"), os.path.join(self.folder, "device.key")
        block = fields("GET", "/1/notifications")
        times = []
        for identity in self.identities:
            began = time.monotonic()
            connection = Connection(server.courier, authority, identity, key)
            line = connection.first_line(block)
            times.append((time.monotonic() - began) * 1000)
            assert b'"sending"' in line, line
            connection.close()
        return sorted(times)


def main():
    work = tempfile.mkdtemp(prefix="carillon-restart-")
    try:
        tools = Tools(work)
        for devices, mailboxes in [(10_000, 10_000), (DEVICES, 10_000), (DEVICES, DEVICES)]:
            folder = Folder(tools, work, devices, mailboxes)
            starts = []
            for _ in range(STARTS):
                server, seconds = folder.start()
                starts.append(seconds * 1000)
                ready = server.resident()
                times = folder.deliveries(server)
                after = server.resident()
                server.stop()
            starts.sort()
            print(f"{devices} devices, {mailboxes} stored mailboxes:")
            print(f"  ready after {starts[STARTS // 2]:.0f} ms, median of {STARTS}, slowest {starts[-1]:.0f} ms")
            print(
                f"  connected and delivered over TLS, {len(times)} devices: median {times[len(times) // 2]:.1f} ms, "
                f"99 % within {times[len(times) * 99 // 100]:.1f} ms, slowest {times[-1]:.1f} ms")
            print(f"  resident memory {ready / 2**20:.0f} MiB when ready, {after / 2**20:.0f} MiB after that", flush=True)
            shutil.rmtree(folder.folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
