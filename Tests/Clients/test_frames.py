"""Tests the order of the service's frames with python-h2.

python-h2 refuses every frame that comes after GOAWAY, and so do the clients that are built on it. They would lose an
answer that came after GOAWAY.
"""

import json
import socket
import ssl
import time

import jwt
import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, PingReceived, ResponseReceived, StreamEnded
from jwt.utils import base64url_encode
from service import Account, Service


class Client:
    """One connection. It keeps the events that arrive, in their order."""

    def __init__(self, account, environment="development", certificate=False):
        self.account = account
        context = ssl.create_default_context(cafile=str(account.authority_file))
        context.set_alpn_protocols(["h2"])
        if certificate:
            context.load_cert_chain(str(account.certificate_file))
        plain = socket.create_connection(("127.0.0.1", account.service.port(environment)), timeout=30)
        self.socket = context.wrap_socket(plain, server_hostname="127.0.0.1")
        self.connection = H2Connection(H2Configuration(header_encoding="utf-8"))
        self.connection.initiate_connection()
        self.flush()
        self.events = []

    def flush(self):
        self.socket.sendall(self.connection.data_to_send())

    def send(self, authorization=None):
        """Sends a notification, and returns its stream."""
        stream = self.connection.get_next_available_stream_id()
        headers = [
            (":method", "POST"), (":scheme", "https"), (":authority", "127.0.0.1"),
            (":path", "/3/device/" + self.account.device_token), ("apns-topic", self.account.bundle_id),
            ("apns-push-type", "alert")]
        if authorization:
            headers.append(("authorization", "bearer " + authorization))
        self.connection.send_headers(stream, headers)
        self.connection.send_data(stream, b'{"aps":{"alert":"Hello"}}', end_stream=True)
        self.flush()
        return stream

    def read_until(self, kind):
        while not any(isinstance(event, kind) for event in self.events):
            self.read()

    def read_to_end(self):
        while self.read():
            pass

    def read(self):
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            data = b""
        if data:
            # This raises a ProtocolError if a frame comes that must not come any more.
            self.events += self.connection.receive_data(data)
            self.flush_if_possible()
        return data

    def flush_if_possible(self):
        try:
            self.flush()
        except OSError:
            pass

    def kinds(self):
        return [type(event) for event in self.events]

    def status(self):
        return [dict(event.headers)[":status"] for event in self.events if isinstance(event, ResponseReceived)]

    def reasons(self):
        return [json.loads(event.data)["reason"] for event in self.events if isinstance(event, DataReceived) and event.data]


def token(account, signature=None):
    claims = {"iss": account.team_id, "iat": int(time.time())}
    if signature is None:
        return jwt.encode(claims, account.private_key, algorithm="ES256", headers={"kid": account.key_id})
    header = json.dumps({"alg": "ES256", "kid": account.key_id}).encode()
    signed = base64url_encode(header) + b"." + base64url_encode(json.dumps(claims).encode())
    key = serialization.load_pem_private_key(account.private_key.encode(), None)
    return (signed + b"." + base64url_encode(signature(key, signed))).decode()


def test_the_reason_comes_before_goaway(account):
    client = Client(account, environment="production", certificate=True)
    client.send()
    client.read_to_end()
    assert client.status() == ["403"]
    assert client.reasons() == ["BadCertificateEnvironment"]
    kinds = client.kinds()
    assert kinds.index(StreamEnded) < kinds.index(ConnectionTerminated)


def test_a_shutdown_answers_first_and_sends_no_ping(tmp_path):
    service = Service()
    account = Account(service, tmp_path)
    client = Client(account)
    # Use one token for all requests: each new one would be an update, and a connection may have only few updates.
    authorization = token(account)
    client.send(authorization)
    client.read_until(StreamEnded)
    # The answer to this request has not come yet when the shutdown begins.
    service.manage("POST", "/v1/rehearsals", {"rules": [{"match": {"team": account.team_id}, "fault": {"delay": "PT0.5S"}}]})
    client.send(authorization)
    client.send(authorization)
    account.wait(3)
    service.stop()
    client.read_to_end()
    assert client.status() == ["200", "200", "200"]
    assert PingReceived not in client.kinds()
    assert ConnectionTerminated in client.kinds()


def test_a_signature_in_der_is_as_good(account):
    """Java's SHA256withECDSA makes signatures in DER, and Pushy uses it."""
    client = Client(account)
    client.send(token(account, lambda key, signed: key.sign(signed, ec.ECDSA(hashes.SHA256()))))
    client.read_until(StreamEnded)
    assert client.status() == ["200"]


@pytest.mark.parametrize("spoil", [
    lambda der: der[:-1], lambda der: der + b"\x00", lambda der: b"\x31" + der[1:], lambda der: der[:2] + b"\x02\x00" + der[4:]])
def test_a_signature_in_spoilt_der_is_none(account, spoil):
    client = Client(account)
    client.send(token(account, lambda key, signed: spoil(key.sign(signed, ec.ECDSA(hashes.SHA256())))))
    client.read_until(StreamEnded)
    assert (client.status(), client.reasons()) == (["403"], ["InvalidProviderToken"])
