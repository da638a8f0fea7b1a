"""What a server that sends with pywebpush does."""

import json

import py_vapid
import pytest
import pywebpush
import requests
from cryptography.hazmat.primitives import serialization
from py_vapid.utils import b64urlencode

from carillon_testing import CarillonError, WaitTimeout


def vapid():
    made = py_vapid.Vapid02()
    made.generate_keys()
    return made


def notify(apns, subscription, text, key=None, encoding="aes128gcm"):
    session = requests.Session()
    # Without this, REQUESTS_CA_BUNDLE would win.
    session.trust_env = False
    session.verify = apns.ca_file
    signed = {"vapid_private_key": key, "vapid_claims": {"sub": "mailto:admin@example.com"}} if key else {}
    try:
        return pywebpush.webpush(
            subscription.info, text, ttl=60, content_encoding=encoding, requests_session=session, **signed).status_code
    except pywebpush.WebPushException as error:
        return error.response.status_code


def test_a_message_is_delivered_and_the_test_reads_it(apns):
    subscription = apns.web_push()
    assert notify(apns, subscription, "Grüße", vapid()) == 201
    (request,) = apns.wait(text="Grüße", outcome="delivered")
    assert (request["protocol"], request["subscription"], request["status"]) == ("webpush", subscription.name, 201)
    assert request["bytes"] > len("Grüße") and "endpoint" not in request
    assert notify(apns, subscription, json.dumps({"title": "old"}), vapid(), "aesgcm") == 201
    assert apns.requests(protocol="webpush")[-1]["text"] == '{"title": "old"}'


def test_a_subscription_of_one_server(apns):
    owner, stranger = vapid(), vapid()
    point = owner.public_key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    subscription = apns.web_push(vapid=b64urlencode(point), name="alice@example.com")
    assert [notify(apns, subscription, "x", key) for key in (None, stranger, owner)] == [401, 403, 201]
    assert [request["status"] for request in apns.requests(subscription="alice@example.com")] == [401, 403, 201]


def test_a_busy_service_and_an_app_that_is_gone(apns):
    subscription = apns.web_push("offline")
    apns.rehearse({"answer": {"reason": "TooManyRequests", "retryAfter": 1}}, first=1, match={"protocol": "webpush"})
    assert [notify(apns, subscription, text) for text in ("first", "second")] == [429, 201]
    assert apns.wait(text="second")[0]["outcome"] == "stored"
    subscription.device.behave("online")
    apns.wait(text="second", outcome="delivered")
    subscription.device.behave("removed")
    assert notify(apns, subscription, "third") == 404


def test_a_wait_that_fails_shows_what_came(apns):
    subscription = apns.web_push(name="alice")
    assert notify(apns, subscription, "hello") == 201
    with pytest.raises(WaitTimeout) as failure:
        apns.wait(text="another", timeout=0.1)
    assert 'subscription alice, text "hello"' in str(failure.value)
    assert 'text is "hello", not "another"' in str(failure.value)


@pytest.mark.apns(options=["--environment", "development"])
def test_a_service_of_its_own_has_web_push_too(apns):
    assert notify(apns, apns.web_push(), "hello") == 201


def test_a_subscription_that_is_not_possible(apns):
    with pytest.raises(CarillonError, match="/subscriptions/0/vapid"):
        apns.web_push(vapid="BAAA")
