"""What a backend that sends with PyAPNs2 does. Its code does not know that it is tested.

The package apns2 works up to Python 3.9 only, because of hyper. The packages apns2-up and hyper-up have the same code for newer
versions.
"""

import os

import pytest

# The libraries use parts of Python's ssl that will be removed.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
client = pytest.importorskip("apns2.client", exc_type=Exception)
errors = pytest.importorskip("apns2.errors")
credentials = pytest.importorskip("apns2.credentials")
payload = pytest.importorskip("apns2.payload")


def backend():
    key = credentials.TokenCredentials(os.environ["APNS_KEY_FILE"], os.environ["APNS_KEY_ID"], os.environ["APNS_TEAM_ID"])
    return client.APNsClient(key, use_sandbox=True)


def notify(token, text):
    backend().send_notification(token, payload.Payload(alert=text), os.environ["APNS_TOPIC"])


@pytest.fixture(autouse=True)
def directed(apns_environment):
    pass


def test_a_notification_is_delivered(apns):
    notify(apns.device().token, "Your order is ready")
    (request,) = apns.wait(outcome="delivered", push_type="alert")
    assert request["payload"] == {"aps": {"alert": "Your order is ready"}}


def test_the_backend_is_told_that_an_app_was_removed(apns):
    with pytest.raises(errors.Unregistered):
        notify(apns.device("removed").token, "Anybody there?")


def test_a_batch_is_delivered(apns):
    phones = [apns.device(), apns.device("removed")]
    batch = [client.Notification(phone.token, payload.Payload(alert="Hello")) for phone in phones]
    results = backend().send_notification_batch(batch, os.environ["APNS_TOPIC"])
    assert results[phones[0].token] == "Success"
    assert results[phones[1].token][0] == "Unregistered"
    apns.wait(outcome="delivered", token=phones[0].token)


@pytest.mark.apns(accept="any")
def test_a_backend_may_have_data_of_its_own(apns, monkeypatch):
    monkeypatch.setenv("APNS_TEAM_ID", "STRANGE002")
    monkeypatch.setenv("APNS_KEY_ID", "STRANGEKEY")
    monkeypatch.setenv("APNS_TOPIC", "com.example.pyapns2")
    notify("5f21d20b" * 8, "Hello")
    (request,) = apns.wait(topic="com.example.pyapns2", outcome="delivered")
    assert (request["team"], request["unverified"]) == ("STRANGE002", True)
