"""What a backend that sends with aioapns does. Its code does not know that it is tested."""

import asyncio

import pytest
from aioapns import APNs, NotificationRequest, PushType
from carillon_testing import WaitTimeout


def notify(token, *alerts):
    """The backend."""
    import os

    async def run():
        client = APNs(
            key=os.environ["APNS_PRIVATE_KEY"], key_id=os.environ["APNS_KEY_ID"], team_id=os.environ["APNS_TEAM_ID"],
            topic=os.environ["APNS_TOPIC"], use_sandbox=True)
        messages = [
            NotificationRequest(device_token=token, message={"aps": {"alert": alert}}, push_type=PushType.ALERT)
            for alert in alerts]
        results = [await client.send_notification(message) for message in messages]
        client.pool.close()
        return results

    return asyncio.run(run())


@pytest.fixture(autouse=True)
def backend(apns_environment):
    pass


def test_a_notification_is_delivered(apns):
    (result,) = notify(apns.device().token, "Your order is ready")
    assert result.is_successful
    (request,) = apns.wait(outcome="delivered", push_type="alert")
    assert request["payload"] == {"aps": {"alert": "Your order is ready"}}
    assert request["apnsID"] == result.notification_id
    assert apns.requests(status=200) == apns.requests()


def test_the_backend_is_told_that_an_app_was_removed(apns):
    (result,) = notify(apns.device("removed").token, "Anybody there?")
    assert (result.status, result.description) == ("410", "Unregistered")


def test_a_phone_that_is_switched_off_gets_it_later(apns):
    phone = apns.device("offline")
    assert notify(phone.token, "Good night")[0].is_successful
    apns.wait(outcome="stored")
    phone.behave("online")
    apns.wait(outcome="delivered")


def test_a_busy_server_refuses_the_first_attempt(apns):
    rehearsal = apns.rehearse({"answer": {"reason": "ServiceUnavailable"}}, first=1)
    refused, accepted = notify(apns.device().token, "Hello", "Hello")
    assert (refused.status, refused.description) == ("503", "ServiceUnavailable")
    assert accepted.is_successful
    assert len(apns.wait(2)) == 2
    assert rehearsal.fired == 1


def test_a_wait_lets_the_backend_run(apns):
    async def run():
        phone = apns.device()
        client = APNs(
            key=apns.private_key, key_id=apns.key_id, team_id=apns.id, topic=apns.bundle_id, use_sandbox=True)
        waits = [asyncio.create_task(apns.wait_async(timeout=60, payload={"number": number})) for number in range(40)]
        for number in range(40):
            await client.send_notification(NotificationRequest(device_token=phone.token, message={"number": number}))
        client.pool.close()
        for number, wait in enumerate(waits):
            (request,) = await wait
            assert request["payload"] == {"number": number}
        with pytest.raises(WaitTimeout, match="40 requests matched within 0 s, instead of 41"):
            await apns.wait_async(41, timeout=0)

    asyncio.run(run())


def test_the_report_names_a_fault_of_the_backend(apns):
    phone = apns.device("removed")
    notify(phone.token, "Hello", "Hello")
    assert "unregistered-sent-again" in [finding["id"] for finding in apns.report()]


@pytest.mark.apns(id="ABCDE12345", bundle_id="com.example.shop.aioapns", key_id="KEY1234567")
def test_identifiers_of_the_backend_can_be_given(apns):
    token = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
    assert apns.device(token=token).token == token
    assert notify(token, "Hello")[0].is_successful
    (request,) = apns.wait(outcome="delivered", token=token)
    assert (request["team"], request["keyID"], request["topic"]) == ("ABCDE12345", "KEY1234567", "com.example.shop.aioapns")
