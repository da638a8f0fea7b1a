"""Makes the load for the provider rows with h2load, which sends the headers that real providers send."""

import os
import re
import statistics
import subprocess

BODY = '{"aps":{"alert":{"title":"Lunch","body":"The table is laid for twelve, come down."},"sound":"default"}}'


class Load:
    """A load: a number of requests, on a number of connections, with a number of streams each.

    Each connection is a separate h2load process with its own share of the paths. The connections of one h2load would all
    begin at the first path, and so send to the same few devices at the same time.

    `indexed` leaves HPACK's table on, as h2load and the clients of Go and Java do by default: a header that was sent
    before on the connection then takes one byte. Without it (--encoder-header-table-size=0) every request carries its
    headers in full, as if each came from another client.
    """

    def __init__(self, requests, connections, streams, indexed=False):
        self.each, self.connections, self.streams = requests // connections, connections, streams
        self.requests = self.each * connections
        self.options = [] if indexed else ["--encoder-header-table-size=0"]

    def run(self, work, port, paths, token, expiration):
        """Sends notifications. Returns the mean time of a request in seconds."""
        return self.send(work, port, paths, BODY.encode(), [
            f"authorization: bearer {token}", "apns-topic: com.example.app",
            "apns-id: 123e4567-e89b-12d3-a456-4266554400a0", "apns-push-type: alert", "apns-priority: 10",
            f"apns-expiration: {expiration}"])

    def send(self, work, port, paths, content, headers):
        """Runs the load. Returns the mean time of a request in seconds.

        `paths` is a file of paths, or one path.
        """
        body = f"{work}/body"
        with open(body, "wb") as file:
            file.write(content)
        command = [
            "h2load", "-n", str(self.each), "-c", "1", "-m", str(self.streams), "-t", "1", *self.options, "-d", body]
        for header in headers:
            command += ["-H", header]
        base = f"https://127.0.0.1:{port}"
        if paths.endswith(".txt"):
            targets = [["-B", base, "-i", share] for share in shares(paths, self.connections)]
        else:
            targets = [[base + paths]] * self.connections
        running = [subprocess.Popen(command + target, stdout=subprocess.PIPE, text=True) for target in targets]
        outputs = [process.communicate()[0] for process in running]
        succeeded = sum(int(re.search(r"(\d+) 2xx", output).group(1)) for output in outputs)
        if succeeded != self.requests:
            raise SystemExit(f"bench: {self.requests - succeeded} of {self.requests} requests failed\n{outputs[0]}")
        pattern = r"time for request:\s+\S+\s+\S+\s+(\S+)"
        return statistics.mean(seconds(re.search(pattern, output).group(1)) for output in outputs)


def shares(paths, count):
    """Divides the file of paths into `count` files, unless they exist. Returns their names."""
    files = [f"{paths}.{count}.{number}" for number in range(count)]
    if not os.path.exists(files[-1]):
        with open(paths) as file:
            lines = file.readlines()
        for number, name in enumerate(files):
            with open(name, "w") as file:
                file.writelines(lines[number::count])
    return files


def seconds(text):
    for unit, factor in (("us", 1e-6), ("ms", 1e-3), ("s", 1)):
        if text.endswith(unit):
            return float(text[: -len(unit)]) * factor
    raise ValueError(text)
