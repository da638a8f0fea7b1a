"""The publisher's gateway: a Carillon that forwards to another one, which plays Apple's, and the grants of instances."""

import json
import ssl

import httpx
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from service import Account, Service


class Gateway:
    """The upstream, with an app and its phone, and a gateway whose upstream it is."""

    def __init__(self, folder, options=()):
        self.folder = folder
        self.apple = Service()
        self.apple_account = Account(self.apple, folder)
        self.bundle_id = self.apple_account.bundle_id
        self.publisher = Service(options=options)
        self.publisher.manage("POST", "/v1/fixtures", {"teams": [{"name": "Publisher", "apps": [self.bundle_id]}]})
        self.publisher.manage("PUT", f"/v1/apps/{self.bundle_id}/upstreams/development", {
            "url": f"https://127.0.0.1:{self.apple.port()}", "authority": self.apple.ready["caPEM"],
            "credentials": {
                "kind": "key", "teamID": self.apple_account.team_id, "keyID": self.apple_account.key_id,
                "privateKey": self.apple_account.private_key}})
        self.authority_file = folder / "gateway.pem"
        self.authority_file.write_text(self.publisher.ready["caPEM"])

    def close(self):
        self.publisher.stop()
        self.apple.stop()


class Instance:
    """What an instance has: its own key, and the values that a client library takes."""

    def __init__(self, gateway, name, **limits):
        key = ec.generate_private_key(ec.SECP256R1())
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()
        made = gateway.publisher.manage("POST", "/v1/grants", {
            "bundleID": gateway.bundle_id, "name": name, "publicKey": public, **limits})
        self.gateway = gateway
        self.grant, self.client_key = made["grant"], made["clientKey"]
        self.team_id, self.key_id, self.bundle_id = made["teamID"], made["keyID"], gateway.bundle_id
        self.port, self.authority_file = gateway.publisher.port(), gateway.authority_file
        self.private_key = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()
        self.key_file = gateway.folder / f"{self.grant}.p8"
        self.key_file.write_text(self.private_key)

    def make_handle(self, token):
        """What the app on a phone does at its launch."""
        context = ssl.create_default_context(cafile=str(self.authority_file))
        with httpx.Client(http2=True, http1=False, verify=context) as client:
            answer = client.post(
                f"https://127.0.0.1:{self.port}/1/handles", headers={"authorization": f"bearer {self.client_key}"},
                content=json.dumps({"bundleID": self.bundle_id, "environment": "development", "token": token}))
        assert answer.status_code == 200, answer.text
        return answer.json()["handle"]

    def sent(self):
        return self.gateway.publisher.manage("GET", f"/v1/grants/{self.grant}")["sent"]
