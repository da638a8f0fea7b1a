"""The report on clients that nobody here wrote: a clean one gets none, and python-h2 is made to misbehave."""

import clients
import pytest
from h2.events import StreamEnded
from test_frames import Client, token


def findings(account):
    return [
        finding["id"] for finding in
        account.service.manage("GET", "/v1/reports?team=" + account.team_id)["findings"]]


@pytest.mark.parametrize("kind", [clients.Curl, clients.Nghttp])
def test_a_clean_client_gets_a_clean_report(kind, account):
    client = kind(account)
    (answer,) = client.send(account.device_token, "Hello")
    client.close()
    assert answer.reason is None
    account.wait(1, outcome="delivered")
    assert findings(account) == []


def test_h2_puts_everything_into_the_table(account):
    client = Client(account)
    client.send(token(account))
    client.read_until(StreamEnded)
    assert findings(account) == ["hpack-table-filled"]


def test_h2_sends_priority_frames(account):
    client = Client(account)
    client.connection.prioritize(1, weight=16)
    client.send(token(account))
    client.read_until(StreamEnded)
    assert findings(account) == ["hpack-table-filled", "priority-frames"]


def test_h2_announces_a_window_of_nothing(account):
    client = Client(account)
    client.connection.update_settings({4: 0})
    client.flush()
    client.send(token(account))
    client.read_until(StreamEnded)
    assert findings(account) == ["hpack-table-filled", "windows-misused"]
