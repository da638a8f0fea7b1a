"""The whole way of a message to an app of a Linux desktop: a server with pywebpush, the service, the device agent, the session bus, and
apps of both versions of UnifiedPush."""

import base64

import desktop
import pytest
import pywebpush
from service import Service
from web_push import Keys, trusting, vapid

# The app that a new data folder has.
BUNDLE_ID = "com.example.app"
pytestmark = pytest.mark.skipif(not desktop.is_possible(), reason="it needs dbus, python3-dbus and python3-gi")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    service = Service(tmp_path_factory.mktemp("unifiedpush") / "data", options=["--web-push", "127.0.0.1:0"])
    yield service
    service.stop()


@pytest.fixture(scope="module")
def home(service, tmp_path_factory):
    home = desktop.Desktop(tmp_path_factory.mktemp("desktop"), service, BUNDLE_ID)
    yield home
    home.close()


@pytest.mark.parametrize("version", [1, 2], ids=["Connector1", "Connector2"])
def test_a_servers_messages_arrive_at_an_app_of_the_desktop(service, home, version):
    name, keys = f"org.example.Chat{version}", Keys()
    app = home.app(name, version)
    registered = app.told("NewEndpoint")
    assert registered["token"] == f"token of {name}"

    def send(plaintext):
        return pywebpush.webpush(
            keys.subscription(registered["endpoint"]), plaintext, vapid_private_key=vapid(),
            vapid_claims={"sub": "mailto:admin@example.com"}, ttl=60, requests_session=trusting(service))

    # The app has the body as it came, and decrypts it.
    sent = ["Hello", "Grüße", "x" * 3993]
    for plaintext in sent:
        assert send(plaintext).status_code == 201
    for plaintext in sent:
        told = app.told("Message")
        assert told["token"] == registered["token"]
        assert keys.decrypt(base64.b64decode(told["message"])).decode() == plaintext

    # Servers of apps with version 1 may send without encryption.
    answer = trusting(service).post(registered["endpoint"], data=b"plain", headers={"TTL": "60"})
    assert answer.status_code == (201 if version == 1 else 415)
    if version == 1:
        assert base64.b64decode(app.told("Message")["message"]) == b"plain"
