"""Measures the console under load: script/console-load."""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time

from browser import Console, Provider, Service, chromium

TICKS = os.sysconf("SC_CLK_TCK")
FRAMES = """
window.frames_seen = [];
let last = performance.now();
const step = now => { window.frames_seen.push(now - last); last = now; requestAnimationFrame(step); };
requestAnimationFrame(step);
"""


def cpu(process):
    """The seconds of CPU time that a process has used."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Sender:
    """Sends notifications at a given rate over one connection, with Carillon's own client."""

    def __init__(self, provider, tokens, rate, folder):
        account = provider.account
        self.process = subprocess.Popen([
            os.environ.get("CARILLON", "carillon"), "send", "--batch", "-", "--json",
            "--url", f"https://localhost:{account.port}", "--ca", str(account.authority_file),
            "--key-file", str(account.key_file), "--key-id", account.key_id, "--team-id", account.team_id,
            "--data", str(folder)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.lines = [(json.dumps({
            "token": token, "topic": account.bundle_id, "pushType": "alert",
            "payload": {"aps": {"alert": {"title": f"To {index}", "body": "x" * 200}}}}) + "\n").encode()
            for index, token in enumerate(tokens)]
        self.rate = rate
        self.sent = 0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        begin = time.monotonic()
        while not self.is_over.wait(0.01):
            due = int((time.monotonic() - begin) * self.rate)
            while self.sent < due:
                self.process.stdin.write(self.lines[self.sent % len(self.lines)])
                self.sent += 1
            self.process.stdin.flush()

    def stop(self):
        self.is_over.set()
        self.thread.join()
        self.process.stdin.close()
        self.process.wait()


def make_team(service, count):
    """Makes a team and an app, and registers the app on the given number of virtual devices."""
    team = {"name": "Load", "apps": ["com.example.load"], "devices": [{}] * count}
    return service.manage("POST", "/v1/fixtures", {"teams": [team]})["teams"][0]


def watch(console, seconds):
    """How long the page's frames took, in milliseconds, and what the page lists."""
    console.driver.execute_script(FRAMES)
    time.sleep(seconds)
    frames = sorted(console.driver.execute_script("return window.frames_seen"))
    rows = console.driver.execute_script("return document.querySelectorAll('.space .row').length")
    return {"frames": len(frames), "p50": round(frames[len(frames) // 2], 1), "p99": round(frames[int(len(frames) * 0.99)], 1),
            "longest": round(frames[-1], 1), "rowsInDocument": rows}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=int, default=1000, help="notifications a second")
    parser.add_argument("--devices", type=int, default=10_000, help="virtual devices, at most 10,000")
    parser.add_argument("--fleet", type=int, default=0, help="further devices, each with its own connection")
    parser.add_argument("--seconds", type=int, default=20, help="how long each measurement takes")
    options = parser.parse_args()
    # The whole fleet has one address.
    os.environ.setdefault("CARILLON_LIMIT_OPEN_CONNECTIONS", "0")
    os.environ.setdefault("CARILLON_LIMIT_COURIER_CONNECT_RATE", "0")
    service = Service()
    driver = None
    fleet = None
    try:
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            provider = Provider(service, folder)
            team = make_team(service, options.devices - 1)
            provider.account.bundle_id, provider.account.team_id = "com.example.load", team["teamID"]
            provider.account.key_id = team["keys"][0]["keyID"]
            provider.account.key_file.write_text(team["keys"][0]["privateKey"])
            tokens = [device["tokens"]["com.example.load"] for device in team["devices"]]
            if options.fleet:
                fleet = subprocess.Popen([
                    os.environ.get("CARILLON", "carillon"), "device", "fleet", "--count", str(options.fleet),
                    "--bundle-id", "com.example.load", "--json", "--data", str(pathlib.Path(service.ready["ca"]).parent)],
                    stdout=subprocess.PIPE, text=True)
                assert "connected" in fleet.stdout.readline()
            sender = Sender(provider, tokens, options.rate, folder)
            try:
                time.sleep(2)
                shares = {"closed": [], "open": []}
                driver = chromium()
                console = Console(service, driver)
                frames = None
                # The two are measured in turn, so that other work of the machine affects both alike.
                for _ in range(3):
                    driver.get("about:blank")
                    shares["closed"].append(share(service, sender, options.seconds))
                    console.sign_in()
                    begin = (cpu(service.process), sender.sent, time.monotonic())
                    frames = watch(console, options.seconds)
                    shares["open"].append(since(begin, service, sender))
                print(json.dumps({"measurement": "serviceCPU", "unit": "ms per 1,000 notifications", **shares}))
                print(json.dumps({"measurement": "notifications", **frames, "heading": console.one(".heading").text}))
                begin = time.monotonic()
                console.show("#/devices", "Devices")
                count = options.devices + options.fleet
                console.wait(lambda: console.one(".count").text.startswith(f"{count:,}"))
                print(json.dumps({"measurement": "devices", "secondsUntilAllAreListed": round(time.monotonic() - begin, 2),
                                  **watch(console, options.seconds)}))
                before = time.monotonic()
                console.write("search", tokens[-1])
                console.wait(lambda: len(console.titles()) == 1)
                print(json.dumps({"measurement": "devicesSearch", "milliseconds": round((time.monotonic() - before) * 1000)}))
            finally:
                sender.stop()
    finally:
        if driver:
            driver.quit()
        if fleet:
            fleet.terminate()
            fleet.wait()
        service.stop()


def share(service, sender, seconds):
    begin = (cpu(service.process), sender.sent, time.monotonic())
    time.sleep(seconds)
    return since(begin, service, sender)


def since(begin, service, sender):
    """The milliseconds of CPU time that the service needs for 1,000 notifications."""
    used, sent = cpu(service.process) - begin[0], sender.sent - begin[1]
    return round(used / max(1, sent) * 1_000_000, 1)


if __name__ == "__main__":
    main()
