"""What a subscription and a server of Web Push need beside their client library."""

import base64
import os

import http_ece
import py_vapid
import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec


def point(public_key):
    """A public key as subscriptions and servers name it."""
    data = public_key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    return text(data)


def text(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Keys:
    """The keys of a subscription, which the service does not know."""

    def __init__(self):
        self.private_key = ec.generate_private_key(ec.SECP256R1())
        self.auth = os.urandom(16)

    def subscription(self, endpoint):
        """What an app gives to its server."""
        return {"endpoint": endpoint, "keys": {"p256dh": point(self.private_key.public_key()), "auth": text(self.auth)}}

    def decrypt(self, body):
        return http_ece.decrypt(body, private_key=self.private_key, auth_secret=self.auth, version="aes128gcm")


def trusting(service):
    session = requests.Session()
    # Without this, REQUESTS_CA_BUNDLE would win.
    session.trust_env = False
    session.verify = service.ready["ca"]
    return session


def vapid():
    vapid = py_vapid.Vapid02()
    vapid.generate_keys()
    return vapid
