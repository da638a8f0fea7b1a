"""Tests that clients that other people wrote work with the service as they do with APNs."""

import threading
import time

import clients
import pytest
from service import Account, Gate, Service


@pytest.fixture(params=clients.ALL, ids=lambda client: client.__name__)
def client(request, account):
    client = request.param(account)
    yield client
    client.close()


def test_a_notification_is_delivered(client, account):
    (answer,) = client.send(account.device_token, "Your order is ready ☕")
    assert answer.reason is None
    (request,) = account.wait(1, outcome="delivered")
    assert request["payload"]["aps"]["alert"] in ("Your order is ready ☕", {"body": "Your order is ready ☕"})
    # pyapns_client does not return the identifier.
    assert answer.apns_id in (request["apnsID"], None)


def test_two_hundred_at_once(client, account):
    answers = client.send(account.device_token, "Hello", count=200)
    assert [answer.reason for answer in answers] == [None] * 200
    requests = account.wait(200, outcome="delivered")
    assert len({request["apnsID"] for request in requests}) == 200


def test_libcurl_sends_thousands_over_one_connection(account):
    """libcurl 7.88 resets each stream that was answered without a body."""
    # One device token has a rate.
    tokens = account.more_devices(30) * 100
    assert clients.Curl(account).statuses(tokens, "Hello") == [200] * 3000


def test_php_sends_thousands_over_one_connection(account):
    """PHP's curl is the same library behind its multi interface."""
    answers = clients.PHP(account).send_all(account.more_devices(30) * 100, "Hello")
    assert [answer.status for answer in answers] == [200] * 3000
    # The journal keeps the last thousand.
    connections = {request["connection"] for request in account.wait(1000)}
    assert len(connections) == 1


def test_curl_learns_that_a_body_is_too_large(account):
    """The reset of the stream comes after the answer, because curl 7.88 drops an answer that comes with it."""
    curl = clients.Curl(account)
    assert curl.statuses([account.device_token] * 20, "x" * 100_000) == [413] * 20
    (answer,) = curl.send(account.device_token, "Hello")
    assert answer.status == 200


def test_a_reason_becomes_the_clients_own_error(client, account):
    (bad,) = client.send("00" * 32, "Hello")
    assert (bad.reason, bad.status) in [("BadDeviceToken", 400), ("BadDeviceToken", None)]
    account.behave(kind="removed")
    (gone,) = client.send(account.device_token, "Hello")
    assert (gone.reason, gone.status) in [("Unregistered", 410), ("Unregistered", None)]


@pytest.mark.parametrize("kind", [kind for kind in clients.ALL if kind.takes_certificates])
def test_a_certificate_is_enough(kind, account):
    client = kind(account, certificate=True)
    (answer,) = client.send(account.device_token, "Hello")
    client.close()
    assert answer.reason is None
    (request,) = account.wait(1, outcome="delivered")
    assert "certificate" in request and "keyID" not in request


@pytest.mark.parametrize("kind", clients.ALL)
def test_a_client_comes_through_a_restart(kind, tmp_path):
    service = Service(tmp_path / "data")
    gate = Gate(service.port())
    account = Account(service, tmp_path, port=gate.port)
    # Virtual devices do not survive a restart.
    token = service.register_device(account.bundle_id, tmp_path / "phone.pem")
    client = kind(account)
    deadline = time.monotonic() + 60

    def send_until_accepted():
        while True:
            assert time.monotonic() < deadline
            try:
                (answer,) = client.send(token, "Hello")
            except Exception:
                # The client was refused, or its connection broke, and it has used up its own attempts.
                continue
            if answer.reason is None:
                return
            assert answer.reason in ("ServiceUnavailable", "Shutdown")

    def restart():
        service.stop()
        service.start()
        gate.target = service.port()

    for _ in range(10):
        send_until_accepted()
    restarting = threading.Thread(target=restart)
    restarting.start()
    for _ in range(10):
        send_until_accepted()
    restarting.join()
    send_until_accepted()
    client.close()
    gate.close()
    log = service.events("accepted")
    service.stop()
    assert len(log) >= 21
