"""Web Push as servers send it: pywebpush over HTTP/1.1, and httpx over HTTP/2, to a device of the service."""

import base64
import itertools
import json
import os
import ssl
import stat
import subprocess

import http_ece
import httpx
import py_vapid
import pytest
import pywebpush
import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from service import Service

BUNDLE_ID = "com.example.app"


def text(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def courier(service, identity):
    """A client of the courier, as the device."""
    context = ssl.create_default_context(cafile=service.ready["ca"])
    context.load_cert_chain(str(identity))
    address = service.ready["development"]["courier"]
    return httpx.Client(http2=True, verify=context, base_url=f"https://{address}", timeout=30)


class Subscription:
    """A subscription of an app on a device, with keys as a browser makes them."""

    def __init__(self, service, identity, name, **document):
        self.private_key = ec.generate_private_key(ec.SECP256R1())
        self.auth = os.urandom(16)
        with courier(service, identity) as client:
            answer = client.put(f"/1/apps/{BUNDLE_ID}/subscriptions/{name}", json=document)
        assert answer.status_code == 200, answer.text
        self.endpoint = answer.json()["endpoint"]

    @property
    def info(self):
        point = self.private_key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
        return {"endpoint": self.endpoint, "keys": {"p256dh": text(point), "auth": text(self.auth)}}


@pytest.fixture(scope="module")
def pushed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("web-push")
    service = Service(folder / "data", options=["--web-push", "127.0.0.1:0"])
    identity = folder / "device.pem"
    service.command("device", "activate", "--out", str(identity))
    service.command("device", "register", "--identity", str(identity), "--bundle-id", BUNDLE_ID)
    yield service, identity
    service.stop()


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


def test_pywebpush_reaches_a_device_that_is_offline_and_one_that_is_connected(pushed):
    service, identity = pushed
    subscription = Subscription(service, identity, "pywebpush")

    def send(body):
        return pywebpush.webpush(
            subscription.info, body, vapid_private_key=vapid(), vapid_claims={"sub": "mailto:admin@example.com"}, ttl=60,
            requests_session=trusting(service))

    assert send("first").status_code == 201
    with courier(service, identity) as client, client.stream("GET", "/1/notifications") as stream:
        lines = (json.loads(line) for line in stream.iter_lines() if line)
        for expected in (b"first", b"second"):
            line = next(lines)
            assert line["subscription"] == "pywebpush" and line["webPush"]["encoding"] == "aes128gcm"
            body = base64.urlsafe_b64decode(line["webPush"]["body"] + "==")
            assert expected == http_ece.decrypt(
                body, private_key=subscription.private_key, auth_secret=subscription.auth, version="aes128gcm")
            answer = client.post("/1/acknowledgements", json={"sendings": [line["sending"]]})
            assert answer.status_code in (200, 204), answer.text
            if expected == b"first":
                assert send("second").status_code == 201


def test_a_subscription_with_a_key_takes_its_owner_alone(pushed):
    service, identity = pushed
    owner, stranger = vapid(), vapid()
    point = owner.public_key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    subscription = Subscription(service, identity, "restricted", vapid=text(point))

    def send(**more):
        try:
            return pywebpush.webpush(subscription.info, "x", ttl=60, requests_session=trusting(service), **more).status_code
        except pywebpush.WebPushException as error:
            return error.response.status_code

    claims = {"sub": "mailto:admin@example.com"}
    assert send() == 401
    assert send(vapid_private_key=stranger, vapid_claims=dict(claims)) == 403
    assert send(vapid_private_key=owner, vapid_claims=dict(claims)) == 201


def test_aesgcm_and_its_fields(pushed):
    service, identity = pushed
    subscription = Subscription(service, identity, "draft")
    answer = pywebpush.webpush(
        subscription.info, "old", vapid_private_key=vapid(), vapid_claims={"sub": "mailto:admin@example.com"}, ttl=60,
        content_encoding="aesgcm", requests_session=trusting(service))
    assert answer.status_code == 201


def test_httpx_over_http2(pushed):
    service, identity = pushed
    subscription = Subscription(service, identity, "httpx", plain=True)
    with httpx.Client(http2=True, verify=ssl.create_default_context(cafile=service.ready["ca"])) as client:
        assert client.get(subscription.endpoint).json() == {"unifiedpush": {"version": 1}}
        answer = client.post(subscription.endpoint, content=b"plain text", headers={"TTL": "60", "Topic": "a"})
        assert answer.http_version == "HTTP/2" and answer.status_code == 201 and answer.headers["ttl"] == "60"
        assert client.delete(answer.headers["location"]).status_code == 204
        assert client.delete(answer.headers["location"]).status_code == 404


def test_the_command_subscribes_and_shows_what_is_inside(pushed, tmp_path):
    service, _ = pushed
    identity, keys = tmp_path / "another.pem", tmp_path / "keys.json"
    service.command("device", "activate", "--out", str(identity))
    subscribe = (
        "device", "subscribe", "--identity", str(identity), "--bundle-id", BUNDLE_ID, "--name", "by hand", "--out", str(keys))
    (shown,) = service.command(*subscribe)
    document = json.loads(keys.read_text())
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    assert shown == {name: document[name] for name in ("endpoint", "p256dh", "auth")}
    # The file is never overwritten: with other keys nobody could read what comes for these.
    with pytest.raises(subprocess.CalledProcessError):
        service.command(*subscribe)
    assert json.loads(keys.read_text()) == document

    info = {"endpoint": document["endpoint"], "keys": {"p256dh": document["p256dh"], "auth": document["auth"]}}
    for body in ("Grüße", b"\xff\xfe"):
        assert pywebpush.webpush(info, body, ttl=60, requests_session=trusting(service)).status_code == 201
    listening = subprocess.Popen(
        [os.environ.get("CARILLON", "carillon"), "device", "listen", "--identity", str(identity), "--decrypt", str(keys),
         "--data", str(service.folder), "--json"], stdout=subprocess.PIPE, text=True)
    try:
        lines = (json.loads(line) for line in listening.stdout)
        received = [line for line in itertools.islice((line for line in lines if "webPush" in line), 2)]
    finally:
        listening.terminate()
        listening.wait()
    assert [line["subscription"] for line in received] == ["by hand", "by hand"]
    # What is not UTF-8 has no text.
    assert [line.get("text") for line in received] == ["Grüße", None]
