"""What a backend that sends with httpx does."""

import json
import os
import secrets
import time

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec


def send(token, payload, issued=None, environment=os.environ, push_type="alert"):
    """The backend, which gets its configuration from environment variables. A payload in bytes is sent as it is. issued is when the
    provider token was made, now if it is not given. Returns the status and the answer's members."""
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    topic = environment["APNS_TOPIC"] + (".voip" if push_type == "voip" else "")
    claims = {"iss": environment["APNS_TEAM_ID"], "iat": int(time.time()) if issued is None else issued}
    authorization = jwt.encode(claims, environment["APNS_PRIVATE_KEY"], "ES256", {"kid": environment["APNS_KEY_ID"]})
    with httpx.Client(http2=True, base_url=environment["APNS_URL"]) as client:
        answer = client.post("/3/device/" + token, content=body, headers={
            "authorization": "bearer " + authorization, "apns-topic": topic, "apns-push-type": push_type})
        return answer.status_code, answer.json() if answer.content else {}


def notify(token, payload, issued=None, environment=os.environ, push_type="alert"):
    status, answer = send(token, payload, issued, environment, push_type)
    return status, answer.get("reason")


def test_a_notification_is_delivered(apns, apns_environment):
    assert notify(apns.device().token, {"aps": {"alert": "Hello"}}) == (200, None)
    apns.wait(outcome="delivered", payload={"aps": {"alert": "Hello"}})


def test_an_hour_later_the_provider_token_is_too_old(apns, apns_environment):
    token = apns.device().token
    before = apns.clock.now
    assert notify(token, {"aps": {"alert": "Hello"}}) == (200, None)
    assert apns.clock.advance("PT1H1M") > before
    # A provider token from before the advance is as old as the team's clock says.
    issued = int(time.time()) - 30
    assert notify(token, {"aps": {"alert": "Hello"}}, issued) == (403, "ExpiredProviderToken")
    # The advance has made it so old, so only going on with it after the first answer is a fault.
    assert notify(token, {"aps": {"alert": "Hello"}}, issued) == (403, "ExpiredProviderToken")
    assert "provider-token-too-old" in [finding["id"] for finding in apns.report()]


@pytest.mark.apns(options=["--conformance", "strict"])
def test_a_service_with_other_options(apns, apns_environment):
    # The Guide wants the path in another form of HPACK than httpx has. The option makes that a rule.
    status, answer = send(apns.device().token, {"aps": {"alert": "Hello"}})
    assert (status, answer["reason"]) == (403, "Forbidden")
    assert answer["detail"].startswith("The header :path came as a literal with incremental indexing")
    assert "; the Guide (2.3.4.1) requires" in answer["detail"]


@pytest.mark.apns(accept="any")
def test_a_backend_with_data_of_its_own(apns, apns_environment, monkeypatch):
    key = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    for name, value in {"TEAM_ID": "STRANGE001", "KEY_ID": "STRANGEKEY", "PRIVATE_KEY": key.decode(), "TOPIC": "com.example.own"}.items():
        monkeypatch.setenv("APNS_" + name, value)
    token = secrets.token_hex(32)
    assert notify(token, {"aps": {"alert": "Hello"}}) == (200, None)
    (request,) = apns.wait(topic="com.example.own", outcome="delivered")
    assert (request["team"], request["token"]) == ("STRANGE001", token)
    assert apns.requests(token=token) == [request]
