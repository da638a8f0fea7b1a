"""Web Push as servers send it: pywebpush over HTTP/1.1, and httpx over HTTP/2, to a device of the service."""

import base64
import itertools
import json
import os
import socket
import ssl
import stat
import subprocess

import httpx
import pytest
import pywebpush

from gateway import Gateway
from service import Service
from web_push import Keys, point, trusting, vapid

BUNDLE_ID = "com.example.app"


def courier(service, identity):
    """A client of the courier, as the device."""
    context = ssl.create_default_context(cafile=service.ready["ca"])
    context.load_cert_chain(str(identity))
    address = service.ready["development"]["courier"]
    return httpx.Client(http2=True, verify=context, base_url=f"https://{address}", timeout=30)


class Subscription(Keys):
    """A subscription of an app on a device, with keys as a browser makes them."""

    def __init__(self, service, identity, name, **document):
        super().__init__()
        with courier(service, identity) as client:
            answer = client.put(f"/1/apps/{BUNDLE_ID}/subscriptions/{name}", json=document)
        assert answer.status_code == 200, answer.text
        self.endpoint = answer.json()["endpoint"]

    @property
    def info(self):
        return self.subscription(self.endpoint)


@pytest.fixture(scope="module")
def pushed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("web-push")
    service = Service(folder / "data", options=["--web-push", "127.0.0.1:0"])
    identity = folder / "device.pem"
    service.command("device", "activate", "--out", str(identity))
    service.command("device", "register", "--identity", str(identity), "--bundle-id", BUNDLE_ID)
    yield service, identity
    service.stop()


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
            assert subscription.decrypt(base64.urlsafe_b64decode(line["webPush"]["body"] + "==")) == expected
            answer = client.post("/1/acknowledgements", json={"sendings": [line["sending"]]})
            assert answer.status_code in (200, 204), answer.text
            if expected == b"first":
                assert send("second").status_code == 201


def test_a_subscription_with_a_key_takes_its_owner_alone(pushed):
    service, identity = pushed
    owner, stranger = vapid(), vapid()
    subscription = Subscription(service, identity, "restricted", vapid=point(owner.public_key))

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


@pytest.fixture
def unsubscribing():
    """The headers of a server that names a URL at which its subscriptions end (Mastodon), and where that would be asked."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield {"TTL": "60", "Unsubscribe-Url": f"http://127.0.0.1:{listener.getsockname()[1]}/unsubscribe"}, listener


def nobody_has_come(listener):
    try:
        listener.accept()
    except BlockingIOError:
        return True
    return False


def test_the_service_asks_no_url_that_a_sender_names(tmp_path, unsubscribing):
    """A stranger could choose it. The subscription's end is the sender's 404."""
    headers, listener = unsubscribing
    service, identity = Service(tmp_path / "data", options=["--web-push", "127.0.0.1:0"]), tmp_path / "device.pem"
    try:
        service.command("device", "activate", "--out", str(identity))
        service.command("device", "register", "--identity", str(identity), "--bundle-id", BUNDLE_ID)
        subscription = Subscription(service, identity, "mastodon.example", plain=True)
        sender = trusting(service)
        assert sender.post(subscription.endpoint, data=b"x", headers=headers).status_code == 201
        with courier(service, identity) as client:
            assert client.delete(f"/1/apps/{BUNDLE_ID}/subscriptions/mastodon.example").status_code in (200, 204)
        assert sender.post(subscription.endpoint, data=b"x", headers=headers).status_code == 404
    finally:
        # It answers everything before, so nothing comes later.
        service.stop()
    assert nobody_has_come(listener)


def test_a_gateway_asks_no_url_that_a_sender_names(tmp_path, unsubscribing):
    """Not even when Apple says that the phone is gone."""
    headers, listener = unsubscribing
    gateway = Gateway(tmp_path, ["--web-push", "127.0.0.1:0"])
    try:
        grant = gateway.publisher.manage(
            "POST", "/v1/grants", {"bundleID": gateway.bundle_id, "name": "phones", "webPush": True})
        sender = trusting(gateway.publisher)
        answer = sender.post(
            gateway.publisher.ready["development"]["webPush"] + "/1/handles",
            headers={"Authorization": f"Bearer {grant['clientKey']}"}, json={
                "bundleID": gateway.bundle_id, "environment": "development", "token": gateway.apple_account.device_token,
                "webPush": {"name": "mastodon.example"}})
        assert answer.status_code == 200, answer.text
        endpoint, encrypted = answer.json()["endpoint"], headers | {"Content-Encoding": "aes128gcm"}
        assert sender.post(endpoint, data=bytes(200), headers=encrypted).status_code == 201
        gateway.apple_account.behave(kind="removed")
        assert sender.post(endpoint, data=bytes(200), headers=encrypted).status_code == 404
    finally:
        gateway.close()
    assert nobody_has_come(listener)
