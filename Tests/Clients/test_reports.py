"""Tests the report on clients that other people wrote. The report finds nothing wrong with curl and nghttp, nor with
python-h2 if it is used correctly. For each finding, one python-h2 client makes that mistake, and another one does not."""

import json
import time
import uuid

import clients
import jwt
import pytest
from h2.events import StreamEnded
from hpack import NeverIndexedHeaderTuple
from test_frames import Client


def findings(account):
    return [
        finding["id"] for finding in
        account.service.manage("GET", "/v1/reports?team=" + account.team_id)["findings"]]


class Sender:
    """python-h2 that encodes headers as the Guide asks (2.3.4.1), unless a test says otherwise."""

    def __init__(self, account, indexed=False, authorization=None):
        self.account, self.indexed = account, indexed
        self.client = Client(account)
        self.authorization = authorization or self.token()

    def token(self, age=0):
        claims = {"iss": self.account.team_id, "iat": int(time.time()) - age}
        return jwt.encode(claims, self.account.private_key, algorithm="ES256", headers={"kid": self.account.key_id})

    def send(self, body=None, path=None, authorization=None, **more):
        """Sends a notification and waits for the end of the answer."""
        connection = self.client.connection
        stream = connection.get_next_available_stream_id()
        plain = {"apns-topic": self.account.bundle_id, "apns-push-type": "alert"}
        plain.update({"apns-" + name.replace("_", "-"): value for name, value in more.items()})
        own = [
            (":path", path or "/3/device/" + self.account.device_token),
            ("authorization", "bearer " + (authorization or self.authorization))]
        if not self.indexed:
            own = [NeverIndexedHeaderTuple(*header) for header in own]
        connection.send_headers(stream, [
            (":method", "POST"), (":scheme", "https"), (":authority", "127.0.0.1"), *own,
            *[(name, value) for name, value in plain.items() if value is not None]])
        body = body or {"aps": {"alert": str(uuid.uuid4())}}
        connection.send_data(stream, json.dumps(body).encode(), end_stream=True)
        self.client.flush()
        while not any(isinstance(event, StreamEnded) and event.stream_id == stream for event in self.client.events):
            assert self.client.read()
        return self


@pytest.mark.parametrize("kind", [clients.Curl, clients.Nghttp])
def test_a_clean_client_gets_a_clean_report(kind, account):
    client = kind(account)
    (answer,) = client.send(account.device_token, "Hello")
    client.close()
    assert answer.reason is None
    account.wait(1, outcome="delivered")
    assert findings(account) == []


def rehearse(account, reason, first):
    account.service.manage("POST", "/v1/rehearsals", {"rules": [{
        "match": {"team": account.team_id}, "when": {"first": first}, "fault": {"answer": {"reason": reason}}}]})


def many(account, count, each):
    authorization = None
    for _ in range(count):
        sender = Sender(account, authorization=authorization)
        authorization = sender.authorization
        for _ in range(each):
            sender.send()


def priority(account, sends):
    sender = Sender(account)
    if sends:
        sender.client.connection.prioritize(9, weight=16)
    sender.send().send()


def window(account, bytes):
    sender = Sender(account)
    sender.client.connection.update_settings({4: bytes})
    sender.client.flush()
    sender.send().send()


def updates(account, count):
    sender = Sender(account)
    for _ in range(3):
        for _ in range(count):
            sender.client.connection.increment_flow_control_window(1)
        sender.send()


def churn(account, age):
    Sender(account).send()
    sender = Sender(account)
    sender.send(authorization=sender.token(age))


def again(account, reason, delays):
    sender, same = Sender(account), {"aps": {"alert": "Same"}}
    rehearse(account, reason, len(delays))
    sender.send(same)
    for delay in delays:
        time.sleep(delay)
        sender.send(same)


def rejected(account, corrects):
    Sender(account).send({"aps": {"alert": "x"}}, priority="7").send(
        {"aps": {"alert": "x"}}, priority="10" if corrects else "7")


def gone(account, comes_back):
    sender = Sender(account)
    account.behave(kind="removed")
    sender.send()
    if comes_back:
        account.behave(kind="online")
    sender.send()


def identified(account, first, second, bodies):
    sender, ids = Sender(account), {name: str(uuid.uuid4()) for name in ("a", "b")}
    for name, body in zip((first, second), bodies):
        sender.send({"aps": {"alert": body}}, id=ids[name])


SILENT = {"aps": {"content-available": 1}}
ALERT = {"aps": {"alert": {"title": "Sale"}}}
CASES = {
    "provider-token-churn": (lambda account: churn(account, 60), lambda account: churn(account, 1500)),
    "provider-token-too-old": (
        lambda account: Sender(account).send(authorization=Sender(account).token(3700)),
        lambda account: Sender(account).send(authorization=Sender(account).token(3000))),
    "connection-per-push": (lambda account: many(account, 4, 1), lambda account: many(account, 1, 4)),
    "too-many-connections": (lambda account: many(account, 9, 2), lambda account: many(account, 2, 9)),
    "hpack-table-filled": (lambda account: Sender(account, indexed=True).send(), lambda account: Sender(account).send()),
    "priority-frames": (lambda account: priority(account, True), lambda account: priority(account, False)),
    "windows-misused": (lambda account: window(account, 0), lambda account: window(account, 4096)),
    "windows-misused, frames": (lambda account: updates(account, 40), lambda account: updates(account, 3)),
    "rejected-sent-again": (lambda account: rejected(account, False), lambda account: rejected(account, True)),
    "unregistered-sent-again": (lambda account: gone(account, False), lambda account: gone(account, True)),
    "retried-without-delay": (
        lambda account: again(account, "TooManyRequests", [0, 0]),
        lambda account: again(account, "ServiceUnavailable", [0.2, 0.6])),
    "processed-sent-again": (
        lambda account: identified(account, "a", "a", ["One", "One"]),
        lambda account: identified(account, "a", "b", ["One", "Two"])),
    "apns-id-reused": (
        lambda account: identified(account, "a", "a", ["One", "Two"]),
        lambda account: identified(account, "a", "b", ["One", "Two"])),
    "identical-notifications": (
        lambda account: Sender(account).send(ALERT).send(ALERT),
        lambda account: Sender(account).send(ALERT, collapse_id="sale").send(ALERT, collapse_id="sale")),
    "silent-priority-10": (
        lambda account: Sender(account).send(SILENT, push_type="background", priority="10"),
        lambda account: Sender(account).send(SILENT, push_type="background", priority="5")),
    "push-type-missing": (lambda account: Sender(account).send(push_type=None), lambda account: Sender(account).send()),
    "payload-keys-misplaced": (
        lambda account: Sender(account).send({"aps": {"title": "Sale"}}), lambda account: Sender(account).send(ALERT)),
    "device-token-described": (
        lambda account: Sender(account).send(path="/3/device/%7Blength%20=%2032,%20bytes%20=%200xc63963fd%7D"),
        lambda account: Sender(account).send()),
    "upper-case-token": (
        lambda account: Sender(account).send(path="/3/device/" + account.device_token.upper()),
        lambda account: Sender(account).send(path="/3/device/" + account.device_token.lower())),
}


@pytest.mark.parametrize("name", CASES)
def test_a_client_misbehaves_and_its_twin_behaves(name, account):
    misbehaves, behaves = CASES[name]
    behaves(account)
    assert [finding for finding in findings(account) if finding != "rule-never-fired"] == []
    account.service.manage("DELETE", "/v1/requests?team=" + account.team_id)
    for rehearsal in account.service.manage("GET", "/v1/rehearsals"):
        # The list also has those of other tests that have ended.
        if rehearsal["active"]:
            account.service.manage("DELETE", "/v1/rehearsals/" + rehearsal["rehearsal"])
    account.behave(kind="online")
    misbehaves(account)
    found = [finding for finding in findings(account) if finding != "rule-never-fired"]
    assert found == [name.split(",")[0]]
