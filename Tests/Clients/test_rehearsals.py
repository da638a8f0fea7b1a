"""Tests every fault of a rehearsal with clients that other people wrote: curl, nghttp and aioapns, and python-h2 where
the others do not report enough."""

import contextlib
import socket
import ssl
import struct

import clients
import pytest
from h2.events import ConnectionTerminated, RemoteSettingsChanged, ResponseReceived, StreamEnded, StreamReset
from h2.settings import SettingCodes
from service import Account, Service
from test_frames import Client, token

WHOLE = [clients.Curl, clients.Nghttp, clients.Aioapns]


@contextlib.contextmanager
def rehearsal(account, fault, match=None, **rule):
    """Runs a rehearsal with one rule for this team, and checks its result at the end."""
    match = {"team": account.team_id} if match is None else match
    begun = account.service.manage("POST", "/v1/rehearsals", {"rules": [{"match": match, "fault": fault, **rule}]})
    yield
    (came,) = account.service.manage("DELETE", "/v1/rehearsals/" + begun["rehearsal"])["rules"]
    assert came["fired"] >= 1


@pytest.fixture(params=WHOLE, ids=lambda client: client.__name__)
def client(request, account):
    client = request.param(account)
    yield client
    client.close()


def outcomes(account, count=1):
    return [request["outcome"] for request in account.wait(count)]


@pytest.mark.parametrize("fault, reason, status", [
    ({"answer": {"reason": "ServiceUnavailable", "retryAfter": 7}}, "ServiceUnavailable", 503),
    ({"answer": {"reason": "TooManyRequests"}}, "TooManyRequests", 429),
    ({"answer": {"reason": "Unregistered", "timestamp": 1700000000000}}, "Unregistered", 410),
    ({"answer": {"reason": "InternalServerError"}, "accepted": True}, "InternalServerError", 500),
])
def test_another_answer(client, account, fault, reason, status):
    with rehearsal(account, fault):
        (answer,) = client.send(account.device_token, "Hello")
    assert (answer.reason, answer.status) == (reason, status)
    if fault.get("accepted"):
        account.wait(1, outcome="delivered")
    else:
        assert "delivered" not in outcomes(account)


@pytest.mark.parametrize("fault", [
    {"goAway": {}}, {"goAway": {"reason": "Shutdown", "after": 1}}, {"delay": "PT0.1S"},
    {"delay": {"median": "PT0.05S", "p99": "PT0.2S"}}, {"settings": {"maxConcurrentStreams": 1}}])
def test_what_costs_a_single_request_nothing(client, account, fault):
    with rehearsal(account, fault):
        (answer,) = client.send(account.device_token, "Hello")
    assert answer.status == 200
    account.wait(1, outcome="delivered")


def test_a_notification_is_lost(client, account):
    with rehearsal(account, {"lose": True}):
        (answer,) = client.send(account.device_token, "Hello")
    assert answer.reason is None
    account.wait(1, outcome="lost")


def test_a_notification_is_delivered_twice(client, account):
    with rehearsal(account, {"duplicate": 2}):
        (answer,) = client.send(account.device_token, "Hello")
    assert answer.reason is None
    account.wait(1, outcome="delivered")


@pytest.mark.parametrize("kind", [clients.Curl, clients.Nghttp])
@pytest.mark.parametrize("fault", [
    {"reset": "REFUSED_STREAM"}, {"reset": "INTERNAL_ERROR"}, {"close": "fin"}, {"close": "rst"},
    {"close": "rst", "accepted": True}])
def test_no_answer_comes(kind, account, fault):
    client = kind(account)
    with rehearsal(account, fault), pytest.raises(ConnectionError):
        client.send(account.device_token, "Hello")
    if fault.get("accepted"):
        account.wait(1, outcome="delivered")
    elif fault != {"reset": "REFUSED_STREAM"}:
        # This request may be sent again, because it was not processed (RFC 9113, 8.7).
        assert "delivered" not in outcomes(account)


@pytest.mark.parametrize("kind", [clients.Curl, clients.Nghttp])
def test_a_connection_is_refused(kind, tmp_path):
    service = Service()
    account = Account(service, tmp_path)
    client = kind(account)
    with rehearsal(account, {"refuse": True}, match={"protocol": "h2"}), pytest.raises(ConnectionError):
        client.send(account.device_token, "Hello")
    (answer,) = client.send(account.device_token, "Hello")
    assert answer.reason is None
    service.stop()


def test_a_reset_has_its_code(account):
    client = Client(account)
    with rehearsal(account, {"reset": "ENHANCE_YOUR_CALM"}):
        client.send(token(account))
        client.read_until(StreamReset)
    (reset,) = [event for event in client.events if isinstance(event, StreamReset)]
    assert reset.error_code == 0xB


def test_goaway_comes_after_so_many_answers(account):
    authorization = token(account)
    client = Client(account)
    with rehearsal(account, {"goAway": {"reason": "Shutdown", "after": 2}}, when={"first": 1}):
        for _ in range(3):
            client.events = [event for event in client.events if not isinstance(event, StreamEnded)]
            client.send(authorization)
            client.read_until(StreamEnded)
        client.read_to_end()
    assert client.status() == ["200", "200", "200"]
    (gone,) = [event for event in client.events if isinstance(event, ConnectionTerminated)]
    assert gone.last_stream_id == 5 and b"Shutdown" in gone.additional_data


def test_the_number_of_streams_falls(account):
    client = Client(account)
    with rehearsal(account, {"settings": {"maxConcurrentStreams": 1}}):
        client.send(token(account))
        client.read_until(StreamEnded)
    streams = [
        event.changed_settings[SettingCodes.MAX_CONCURRENT_STREAMS].new_value for event in client.events
        if isinstance(event, RemoteSettingsChanged) and SettingCodes.MAX_CONCURRENT_STREAMS in event.changed_settings]
    assert streams[-1] == 1


def test_a_request_hangs_and_the_next_one_does_not(account):
    authorization = token(account)
    client = Client(account)
    client.send(authorization)
    client.read_until(StreamEnded)
    with rehearsal(account, {"hang": True}, when={"first": 1}):
        hanging = client.send(authorization)
        other = client.send(authorization)
        while not any(isinstance(event, StreamEnded) and event.stream_id == other for event in client.events):
            client.read()
    assert not any(
        isinstance(event, (ResponseReceived, StreamReset)) and event.stream_id == hanging for event in client.events)


def test_an_error_packet_of_the_binary_api(account):
    port = int(account.service.ready["development"]["binary"].rsplit(":", 1)[1])
    context = ssl.create_default_context(cafile=str(account.authority_file))
    context.load_cert_chain(str(account.certificate_file))
    payload = b'{"aps":{"alert":"Hello"}}'
    items = b"".join(struct.pack(">BH", number, len(data)) + data for number, data in [
        (1, bytes.fromhex(account.device_token)), (2, payload), (3, struct.pack(">I", 7))])
    with rehearsal(account, {"errorPacket": {"status": 10}}):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as plain:
            with context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
                connection.sendall(struct.pack(">BI", 2, len(items)) + items)
                assert connection.recv(6) == bytes([8, 10, 0, 0, 0, 7])
    assert "delivered" not in outcomes(account)
