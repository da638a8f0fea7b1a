"""A Carillon that the clients send to, and a port that stays the same when the service is started again."""

import json
import os
import secrets
import signal
import socket
import subprocess
import threading
import urllib.request


class Service:
    """A `carillon serve` on ports that the system chooses. If it is to be started again, it has a data folder."""

    def __init__(self, folder=None, options=()):
        self.folder = folder
        self.options = options
        self.process = None
        self.start()

    def start(self):
        command = [os.environ.get("CARILLON", "carillon"), "serve", "--ports", "ephemeral", "--json", "--journal", "1000", *self.options]
        command += ["--data", str(self.folder)] if self.folder else ["--store", "memory"]
        # All clients have one address, and some make hundreds of connections, one test after the other.
        environment = os.environ | {"CARILLON_LIMIT_PROVIDER_CONNECT_RATE": "0"}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
        self.ready = json.loads(self.process.stdout.readline())
        management = self.ready["management"]
        self.url = management["url"]
        self.key = management["key"] if "key" in management else open(management["keyFile"]).read().strip()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait() == 0

    def port(self, environment="development"):
        return int(self.ready[environment]["provider"].rsplit(":", 1)[1])

    def command(self, *arguments):
        """Runs a command on this service, and returns the objects that it prints."""
        command = [os.environ.get("CARILLON", "carillon"), *arguments, "--data", str(self.folder), "--json"]
        lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        return [json.loads(line) for line in lines]

    def register_device(self, bundle_id, identity):
        """Makes a device that is not connected, and returns its device token for the app."""
        self.command("device", "activate", "--out", str(identity))
        return self.command("device", "register", "--identity", str(identity), "--bundle-id", bundle_id)[0]["token"]

    def events(self, event):
        return [line for line in self.command("log") if line["event"] == event]

    def manage(self, method, path, body=None):
        text = self.ask(method, path, body)
        return json.loads(text) if text else None

    def ask(self, method, path, body=None):
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Authorization", "Bearer " + self.key)
        if body is not None:
            request.add_header("Content-Type", "application/json")
            request.data = json.dumps(body).encode()
        with urllib.request.urlopen(request) as answer:
            return answer.read()

    def steps(self, apns_id):
        """What the delivery log says of a notification, in its order."""
        return [json.loads(line)["event"] for line in self.ask("GET", "/v1/log?id=" + apns_id).splitlines()]


class Account:
    """A team with an app, a phone, a key and a certificate. The key and certificate are also in files, which clients need."""

    def __init__(self, service, folder, port=None, bundle_id=None):
        self.service = service
        self.port = port or service.port()
        self.bundle_id = bundle_id or "com.example.shop" + secrets.token_hex(4)
        team = service.manage("POST", "/v1/fixtures", {"teams": [{
            "name": "Shop", "apps": [self.bundle_id], "devices": [{"name": "phone"}],
            "certificates": [{"bundleID": self.bundle_id, "environment": "development"}],
        }]})["teams"][0]
        self.team_id = team["teamID"]
        self.key_id = team["keys"][0]["keyID"]
        self.private_key = team["keys"][0]["privateKey"]
        self.device_id = team["devices"][0]["deviceID"]
        self.device_token = team["devices"][0]["tokens"][self.bundle_id]
        self.key_file = folder / "key.p8"
        self.key_file.write_text(self.private_key)
        self.certificate_file = folder / "certificate.pem"
        certificate = team["certificates"][0]
        self.certificate_file.write_text(certificate["chain"] + certificate["privateKey"])
        self.authority_file = folder / "ca.pem"
        self.authority_file.write_text(service.ready["caPEM"])

    def more_devices(self, count):
        """Makes virtual devices, and returns the app's device tokens."""
        made = [
            self.service.manage("POST", "/v1/devices", {"team": self.team_id, "name": f"phone {number}"}) for number in range(count)]
        return [device["apps"][0]["token"] for device in made]

    def behave(self, **behaviour):
        self.service.manage("PATCH", "/v1/devices/" + self.device_id, {"behaviour": behaviour})

    def wait(self, count, **match):
        """Waits until this number of the team's requests match, and returns them."""
        body = {"match": {"team": self.team_id, **match}, "count": count, "timeout": "PT30S"}
        return self.service.manage("POST", "/v1/requests/wait", body)["requests"]


class Gate:
    """A fixed port that leads to the service, even after the service was started again on another port."""

    def __init__(self, port):
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            for pair in (client, server), (server, client):
                threading.Thread(target=self.copy, args=pair, daemon=True).start()

    @staticmethod
    def copy(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        try:
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.listener.close()
