"""A provider server that sends to a Carillon, with an app and installations on virtual devices."""

import json
import os
import secrets
import signal
import subprocess
import tempfile
import urllib.request


class ProviderServer:
    """A `carillon provider serve` on a port that the system chooses."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.process = None
        self.start()

    def start(self, port=0):
        self.process = subprocess.Popen(
            [os.environ.get("CARILLON", "carillon"), "provider", "serve", "--data", self.folder.name,
             "--listen", f"127.0.0.1:{port}", "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.ready = json.loads(self.process.stdout.readline())
        self.url = self.ready["url"]
        with open(self.ready["keyFile"], encoding="utf-8") as file:
            self.key = file.read().strip()

    @property
    def port(self):
        return int(self.url.rsplit(":", 1)[1])

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait() == 0
        self.process.stdout.close()

    def stop(self):
        self.end()
        self.folder.cleanup()

    def manage(self, method, path, body=None):
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Authorization", "Bearer " + self.key)
        if body is not None:
            request.data = json.dumps(body).encode()
        with urllib.request.urlopen(request) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def command(self, *arguments):
        """Runs a command on this server, and returns what it prints."""
        return subprocess.run(
            [os.environ.get("CARILLON", "carillon"), "provider", *arguments, "--data", self.folder.name],
            check=True, stdout=subprocess.PIPE, text=True).stdout


class Shop:
    """An app with virtual devices in a Carillon, and the same app in a provider server."""

    def __init__(self, carillon, server, devices, bundle_id=None):
        self.carillon = carillon
        self.server = server
        self.bundle_id = bundle_id or "com.example.shop" + secrets.token_hex(4)
        team = carillon.manage("POST", "/v1/fixtures", {"teams": [{
            "name": "Shop", "apps": [self.bundle_id], "devices": [{} for _ in range(devices)]}]})["teams"][0]
        self.tokens = [device["tokens"][self.bundle_id] for device in team["devices"]]
        self.team_id = team["teamID"]
        self.key = {"keyID": team["keys"][0]["keyID"], "privateKey": team["keys"][0]["privateKey"]}
        self.place = {
            "url": f"https://localhost:{carillon.port()}", "authority": carillon.ready["caPEM"], "key": self.key}
        server.manage("PUT", "/v1/apps/" + self.bundle_id, {
            "teamID": self.team_id, "environments": {"development": self.place}})

    def register(self, name, token, **more):
        """Makes an installation. Its device token is the one with this number, or any other text."""
        return self.server.manage("PUT", f"/v1/installations/{name}?bundleID={self.bundle_id}", {
            "deviceToken": self.tokens[token] if isinstance(token, int) else token, "environment": "development", **more})

    def send(self, audience=None, payload=None, **more):
        return self.server.manage("POST", "/v1/messages", {
            "bundleID": self.bundle_id, "audience": audience or {"everybody": True},
            "payload": payload or {"aps": {"alert": {"title": "Sale", "body": "Text"}}}, **more})

    def message(self, message):
        return self.server.manage("GET", "/v1/messages/" + message["id"])
