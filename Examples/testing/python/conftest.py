"""A Carillon for the tests: one service for the whole run, and one team with a phone for each test."""

import json
import os
import secrets
import ssl
import subprocess
import urllib.request

import pytest


class Carillon:
    """A service that keeps everything in memory and listens on ports that the system chooses."""

    def __init__(self):
        command = [os.environ.get("CARILLON", "carillon"), "serve", "--store", "memory", "--ports", "ephemeral", "--json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.ready = json.loads(self.process.stdout.readline())
        self.host, port = self.ready["development"]["provider"].rsplit(":", 1)
        self.port = int(port)
        self.ssl_context = ssl.create_default_context(cadata=self.ready["caPEM"])

    def manage(self, method, path, body=None):
        """Sends a request to the management API, and returns the answer."""
        management = self.ready["management"]
        request = urllib.request.Request(management["url"] + path, method=method)
        request.add_header("Authorization", "Bearer " + management["key"])
        if body is not None:
            request.add_header("Content-Type", "application/json")
            request.data = json.dumps(body).encode()
        with urllib.request.urlopen(request) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def close(self):
        self.process.terminate()
        self.process.wait()


class Team:
    """A team with an app and a phone, and the credentials that its provider needs."""

    def __init__(self, carillon):
        self.carillon = carillon
        self.bundle_id = "com.example.shop" + secrets.token_hex(4)
        document = {"teams": [{"name": "Shop", "apps": [self.bundle_id], "devices": [{"name": "phone"}]}]}
        team = carillon.manage("POST", "/v1/fixtures", document)["teams"][0]
        self.id = team["teamID"]
        self.key_id = team["keys"][0]["keyID"]
        self.private_key = team["keys"][0]["privateKey"]
        self.device_id = team["devices"][0]["deviceID"]
        self.device_token = team["devices"][0]["tokens"][self.bundle_id]

    def wait(self, count=1, timeout="PT5S", **match):
        """Waits until `count` requests of this team match, and returns them. If they do not come, the test fails and says
        what came instead."""
        body = {"match": {"team": self.id, **match}, "count": count, "timeout": timeout}
        try:
            return self.carillon.manage("POST", "/v1/requests/wait", body)["requests"]
        except urllib.error.HTTPError as error:
            pytest.fail(error.read().decode())

    def rehearse(self, fault, **when):
        """Makes a fault happen to this team's requests only."""
        rule = {"match": {"team": self.id}, "fault": fault, **({"when": when} if when else {})}
        return self.carillon.manage("POST", "/v1/rehearsals", {"rules": [rule]})

    def behave(self, **behaviour):
        """Changes what the phone does from now on."""
        self.carillon.manage("PATCH", "/v1/devices/" + self.device_id, {"behaviour": behaviour})


@pytest.fixture(scope="session")
def carillon():
    service = Carillon()
    yield service
    service.close()


@pytest.fixture
def team(carillon):
    team = Team(carillon)
    yield team
    carillon.manage("DELETE", "/v1/teams/" + team.id)
