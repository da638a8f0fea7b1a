"""The service that is measured, with its default settings."""

import base64
import json
import os
import subprocess
import time
import urllib.parse

from processes import Server, free_port, run

TOPIC = "com.example.app"


class Service:
    """A data folder with registered devices, and the service that runs on it."""

    def __init__(self, tools, work, name, devices, apps=1, certificates=False):
        self.tools = tools
        self.folder = os.path.join(work, name)
        self.data = os.path.join(self.folder, "data")
        self.log = os.path.join(self.folder, "log")
        os.makedirs(self.folder)
        self.paths = os.path.join(self.folder, "paths.txt")
        with self.serve():
            self.create_apps(apps)
        request = []
        if certificates:
            request = [tools.device_request(self.folder)]
        run(tools.seed, self.data, self.folder, str(devices), str(apps), *request)

    def create_apps(self, count):
        if count == 1:
            return
        with open(os.path.join(self.data, "development.json")) as file:
            team = json.load(file)["teamID"]
        for number in range(1, count):
            run(
                self.tools.carillon, "app", "create", "--data", self.data, "--team", team,
                "--bundle-id", f"{TOPIC}{number}",
            )

    def create_channel(self):
        """Makes a broadcast channel that keeps nothing, while the service runs. Returns its identifier."""
        made = subprocess.run(
            [self.tools.carillon, "channel", "create", "--data", self.data, "--bundle-id", TOPIC, "--environment",
             "production", "--json"], stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(made.stdout)["channelID"]

    def serve(self, event_loops=None, env=None, under=(), options=()):
        """Starts the service on ports of the system's choice. `under` is a program that runs it, such as valgrind."""
        env = dict(env or {})
        if event_loops:
            env["CARILLON_EVENT_LOOPS"] = str(event_loops)
        ready = os.path.join(self.folder, "ready.json")
        command = [*under, self.tools.carillon, "serve", "--data", self.data, "--ports", "ephemeral", "--json",
                   "--environment", "production", *options]
        if os.path.exists(ready):
            os.remove(ready)
        server = Server("carillon", command, 0, ready, env)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and server.process.poll() is None:
            for line in open(ready):
                if line.startswith("{") and line.endswith("\n"):
                    document = json.loads(line)
                    addresses, management = document["production"], document["management"]
                    server.port = int(addresses["provider"].rpartition(":")[2])
                    # The management API's host and port, and its key.
                    server.management = urllib.parse.urlsplit(management["url"]).netloc, management_key(management)
                    server.courier = int(addresses["courier"].rpartition(":")[2])
                    server.web_push = addresses.get("webPush")
                    return server
            time.sleep(0.02)
        server.stop()
        raise SystemExit(f"bench: carillon does not start; see {ready}")

    def some_paths(self, name, part):
        """Writes the paths in the slice `part` to a file. Returns its name."""
        target = self.paths.replace(".txt", f".{name}.txt")
        with open(self.paths) as source, open(target, "w") as file:
            file.writelines(source.readlines()[part])
        return target

    @property
    def authority(self):
        return os.path.join(self.data, "ca.pem")

    def provider_token(self):
        """A provider token of the development team."""
        with open(os.path.join(self.data, "development.json")) as file:
            record = json.load(file)
        return provider_token(os.path.join(self.data, f"AuthKey_{record['keyID']}.p8"), record["keyID"], record["teamID"])


def management_key(management):
    """The key of the management API that `serve --json` describes. A service in memory prints the key itself."""
    if key := management.get("key"):
        return key
    with open(management["keyFile"]) as file:
        return file.read().strip()


def provider_token(key, key_id, team_id):
    """A provider token (RFC 7519, ES256), signed with the key in a file."""
    header = encode(json.dumps({"alg": "ES256", "kid": key_id}).encode())
    claims = encode(json.dumps({"iss": team_id, "iat": int(time.time())}).encode())
    text = f"{header}.{claims}"
    signature = subprocess.run(
        ["openssl", "dgst", "-sha256", "-sign", key], input=text.encode(), stdout=subprocess.PIPE, check=True
    ).stdout
    return f"{text}.{encode(raw_signature(signature))}"


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def raw_signature(der):
    """Reads the two numbers of an ECDSA signature from ASN.1. Returns them as 32 bytes each."""
    numbers, rest = [], der[2:]
    for _ in range(2):
        length = rest[1]
        numbers.append(int.from_bytes(rest[2:2 + length], "big").to_bytes(32, "big"))
        rest = rest[2 + length:]
    return b"".join(numbers)
