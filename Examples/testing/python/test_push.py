"""Tests of what a backend that sends with aioapns does if everything works, and if something fails."""

import asyncio

import pytest
from aioapns import APNs, NotificationRequest, PushType


@pytest.fixture(autouse=True)
def redirect(apns_environment):
    """aioapns has Apple's address as a constant. This sends it to the fixture `apns`."""


def send(apns, token, *alerts):
    """What the backend does to send. Replace it with a call of your own backend."""

    async def run():
        client = APNs(key=apns.private_key, key_id=apns.key_id, team_id=apns.id, topic=apns.bundle_id, use_sandbox=True)
        requests = [
            NotificationRequest(device_token=token, message={"aps": {"alert": alert}}, push_type=PushType.ALERT)
            for alert in alerts]
        results = [await client.send_notification(request) for request in requests]
        client.pool.close()
        return results

    return asyncio.run(run())


def test_a_notification_is_delivered(apns):
    (result,) = send(apns, apns.device().token, "Your order is ready")
    assert result.is_successful
    (request,) = apns.wait(outcome="delivered")
    assert request["payload"]["aps"]["alert"] == "Your order is ready"
    assert request["apnsID"] == result.notification_id


def test_an_app_that_was_removed_is_told(apns):
    (result,) = send(apns, apns.device("removed").token, "Anybody there?")
    assert (result.status, result.description) == ("410", "Unregistered")


def test_a_phone_that_is_switched_off_gets_it_later(apns):
    phone = apns.device("offline")
    (result,) = send(apns, phone.token, "Good night")
    assert result.is_successful
    apns.wait(outcome="stored")
    phone.behave("online")
    apns.wait(outcome="delivered")


def test_a_busy_server_refuses_the_first_attempt(apns):
    apns.rehearse({"answer": {"reason": "ServiceUnavailable"}}, first=1)
    refused, accepted = send(apns, apns.device().token, "Hello", "Hello")
    assert (refused.status, refused.description) == ("503", "ServiceUnavailable")
    assert accepted.is_successful
    assert len(apns.wait(count=2)) == 2
