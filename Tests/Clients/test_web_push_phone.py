"""Web Push to a phone behind Apple, with the template of docs/web-push.md, as Mastodon's servers send it: the standard, and the draft
before it. WebPushPageTests runs the page's code for the phone; here a library decrypts what the phone has got."""

import json
import pathlib

import http_ece
import py_vapid
import pytest
import pywebpush

from gateway import Gateway
from web_push import Keys, trusting

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/web-push.md"
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
# What each encoding comes with: the credential of the same age.
VAPID = {"aes128gcm": py_vapid.Vapid02, "aesgcm": py_vapid.Vapid01}


def template():
    """The first template of the page."""
    blocks = (part.split("```")[0] for part in PAGE.read_text().split("```json\n")[1:])
    return next(json.loads(block) for block in blocks if '"$webPush"' in block)


def z85(text):
    """Five digits are four bytes, and the last digits are one more than their bytes."""
    result = b""
    for at in range(0, len(text), 5):
        number = 0
        for digit in text[at:at + 5]:
            number = number * 85 + DIGITS.index(digit)
        result += number.to_bytes(len(text[at:at + 5]) - 1, "big")
    return result


class Phone:
    """The app on the phone of the gateway, with an account."""

    def __init__(self, gateway, name):
        self.gateway, self.keys, self.name = gateway, Keys(), name
        self.publisher = trusting(gateway.publisher)
        grant = gateway.publisher.manage("POST", "/v1/grants", {"bundleID": gateway.bundle_id, "name": "phones", "webPush": True})
        answer = self.publisher.post(
            gateway.publisher.ready["development"]["webPush"] + "/1/handles",
            headers={"Authorization": f"Bearer {grant['clientKey']}"}, json={
                "bundleID": gateway.bundle_id, "environment": "development", "token": gateway.apple_account.device_token,
                "webPush": {"name": name}})
        assert answer.status_code == 200, answer.text
        self.subscription = self.keys.subscription(answer.json()["endpoint"])

    def next(self):
        """What the next notification has beside `aps`."""
        (request,) = self.gateway.apple_account.wait(1, outcome="delivered")
        assert request["payload"].pop("aps") == template()["aps"]
        return request["payload"]

    def text(self, values):
        """Decrypts as the app's extension does."""
        body = z85(values["message"]) if "message" in values else self.publisher.get(values["messageURL"]).content
        more = {"salt": z85(values["salt"]), "dh": z85(values["dh"])} if values["encoding"] == "aesgcm" else {}
        return http_ece.decrypt(
            body, private_key=self.keys.private_key, auth_secret=self.keys.auth, version=values["encoding"], **more).decode()


@pytest.fixture(scope="module")
def phone(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("phone"), ["--web-push", "127.0.0.1:0"])
    try:
        gateway.publisher.manage("PUT", f"/v1/apps/{gateway.bundle_id}/web-push/development", {"template": template()})
        yield Phone(gateway, "alice@mastodon.example")
    finally:
        gateway.close()


# The longest message does not fit into a notification.
@pytest.mark.parametrize("length", [1, 2000, 3900])
@pytest.mark.parametrize("encoding", VAPID)
def test_a_servers_message_reaches_the_phone(phone, encoding, length):
    vapid = VAPID[encoding]()
    vapid.generate_keys()
    phone.gateway.apple.ask("DELETE", "/v1/requests")
    text = ("Hello! " * length)[:length]
    answer = pywebpush.webpush(
        phone.subscription, text, vapid_private_key=vapid, vapid_claims={"sub": "mailto:admin@mastodon.example"}, ttl=60,
        content_encoding=encoding, requests_session=trusting(phone.gateway.publisher))
    assert answer.status_code == 201
    values = phone.next()
    assert values["account"] == phone.name and values["encoding"] == encoding
    assert ("message" in values) == (length < 3000) == ("messageURL" not in values)
    assert phone.text(values) == text
