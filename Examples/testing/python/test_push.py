"""Tests of what a backend that sends with aioapns does if everything works, and if something fails."""

import asyncio

from aioapns import APNs, NotificationRequest, PushType
from aioapns.connection import APNsDevelopmentClientProtocol


def send(team, *messages):
    """What the backend does to send. Replace it with a call of your own backend."""

    async def run():
        # The library has no setting for the server: Apple's address is a constant in it.
        APNsDevelopmentClientProtocol.APNS_SERVER = team.carillon.host
        APNsDevelopmentClientProtocol.APNS_PORT = team.carillon.port
        client = APNs(
            key=team.private_key, key_id=team.key_id, team_id=team.id, topic=team.bundle_id, use_sandbox=True,
            ssl_context=team.carillon.ssl_context)
        requests = [
            NotificationRequest(
                device_token=team.device_token, message={"aps": {"alert": message}}, push_type=PushType.ALERT)
            for message in messages
        ]
        results = [await client.send_notification(request) for request in requests]
        client.pool.close()
        return results

    return asyncio.run(run())


def test_a_notification_is_delivered(team):
    (result,) = send(team, "Your order is ready")
    assert result.is_successful
    (request,) = team.wait(outcome="delivered")
    assert request["payload"]["aps"]["alert"] == "Your order is ready"
    assert request["apnsID"] == result.notification_id


def test_an_app_that_was_removed_is_told(team):
    team.behave(kind="removed")
    (result,) = send(team, "Anybody there?")
    assert (result.status, result.description) == ("410", "Unregistered")


def test_a_phone_that_is_switched_off_gets_it_later(team):
    team.behave(kind="offline")
    (result,) = send(team, "Good night")
    assert result.is_successful
    team.wait(outcome="stored")
    team.behave(kind="online")
    team.wait(outcome="delivered")


def test_a_busy_server_refuses_the_first_attempt(team):
    team.rehearse({"answer": {"reason": "ServiceUnavailable"}}, first=1)
    refused, accepted = send(team, "Hello", "Hello")
    assert (refused.status, refused.description) == ("503", "ServiceUnavailable")
    assert accepted.is_successful
    assert len(team.wait(count=2)) == 2
