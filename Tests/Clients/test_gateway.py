"""Tests that clients that other people wrote send through a gateway as they send to APNs, with the key of a grant."""

import clients
import pytest
from gateway import Gateway, Instance
from provider_server import ProviderServer


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("gateway"))
    yield gateway
    gateway.close()


@pytest.fixture(params=clients.ALL, ids=lambda client: client.__name__)
def kind(request):
    return request.param


def send(kind, instance, handle, alert, count=1):
    client = kind(instance)
    try:
        return client.send(handle, alert, count)
    finally:
        client.close()


def test_two_instances_reach_the_phone(kind, gateway):
    phone = gateway.apple_account
    for name in ("one.example.org", "two.example.org"):
        instance, alert = Instance(gateway, name), f"Hello from {kind.__name__} at {name}"
        handle = instance.make_handle(phone.device_token)
        assert handle != phone.device_token
        gateway.apple.ask("DELETE", "/v1/requests")
        (answer,) = send(kind, instance, handle, alert)
        assert answer.reason is None
        (request,) = phone.wait(1, outcome="delivered")
        assert request["payload"]["aps"]["alert"] in (alert, {"body": alert})
        # pyapns_client does not return the identifier.
        assert answer.apns_id in (request["apnsID"], None)
        assert request["token"] == phone.device_token
        assert instance.sent() == {"200": 1}


def test_two_hundred_at_once(kind, gateway):
    instance = Instance(gateway, "many.example.org")
    handle = instance.make_handle(gateway.apple_account.device_token)
    answers = send(kind, instance, handle, "Hello", count=200)
    assert [answer.reason for answer in answers] == [None] * 200
    assert instance.sent() == {"200": 200}


def test_a_refusal_becomes_the_clients_own_error(kind, gateway):
    phone = gateway.apple_account
    instance, other = Instance(gateway, "chat.example.org"), Instance(gateway, "other.example.org")
    (raw,) = send(kind, instance, phone.device_token, "Hello")
    assert raw.reason == "BadDeviceToken"
    (foreign,) = send(kind, instance, other.make_handle(phone.device_token), "Hello")
    assert foreign.reason == "DeviceTokenNotForTopic"
    limited = Instance(gateway, "sealed.example.org", encryptedOnly=True)
    (open_text,) = send(kind, limited, limited.make_handle(phone.device_token), "Hello")
    assert open_text.reason == "PayloadEmpty"


def test_a_provider_server_sends_with_a_grant(gateway):
    phone, instance = gateway.apple_account, Instance(gateway, "campaigns.example.org")
    handle, server = instance.make_handle(phone.device_token), ProviderServer()
    try:
        server.manage("PUT", f"/v1/apps/{gateway.bundle_id}", {"teamID": instance.team_id, "environments": {"development": {
            "url": f"https://localhost:{instance.port}", "authority": instance.authority_file.read_text(),
            "key": {"keyID": instance.key_id, "privateKey": instance.private_key}}}})
        server.manage("PUT", f"/v1/installations/phone?bundleID={gateway.bundle_id}", {
            "deviceToken": handle, "environment": "development", "tags": ["news"]})
        gateway.apple.ask("DELETE", "/v1/requests")
        server.manage("POST", "/v1/messages", {
            "bundleID": gateway.bundle_id, "audience": {"tags": "news"}, "payload": {"aps": {"alert": "To all"}}})
        (request,) = phone.wait(1, outcome="delivered")
        assert request["payload"]["aps"]["alert"] == "To all"
        assert instance.sent() == {"200": 1}
    finally:
        server.stop()
