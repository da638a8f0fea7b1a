"""Every fault of a rehearsal on the binary API, as two clients see it that nobody here wrote."""

import binary_clients
import pytest
from service import Account, Service
from test_rehearsals import outcomes, rehearsal


@pytest.fixture(params=binary_clients.ALL, ids=lambda client: client.__name__)
def kind(request):
    return request.param


@pytest.fixture
def client(kind, account):
    client = kind(account)
    yield client
    client.close()


def send_other(kind, account, identifier=99):
    """Sends on a connection of its own; returns once the phone has it."""
    other = kind(account)
    other.send("other", identifier)
    account.wait(1, payload={"aps": {"alert": "other"}}, outcome="delivered")
    other.close()


@pytest.mark.parametrize("status", [1, 7, 8, 10, 255])
def test_an_error_packet(client, account, status):
    with rehearsal(account, {"errorPacket": {"status": status}}, when={"first": 1}):
        client.send("Hello", 7)
        assert client.end() == (status, 7)
    assert "delivered" not in outcomes(account)


def test_an_error_packet_for_what_was_accepted(client, account):
    with rehearsal(account, {"errorPacket": {"status": 10}, "accepted": True}, when={"first": 1}):
        client.send("Hello", 7)
        assert client.end() == (10, 7)
        account.wait(1, outcome="delivered")


@pytest.mark.parametrize("way", ["fin", "rst"])
@pytest.mark.parametrize("accepted", [False, True])
def test_the_connection_ends_without_a_packet(client, account, way, accepted):
    fault = {"close": way, "accepted": True} if accepted else {"close": way}
    with rehearsal(account, fault, when={"first": 1}):
        client.send("Hello", 7)
        assert client.end() is None
    if accepted:
        account.wait(1, outcome="delivered")
    else:
        assert "delivered" not in outcomes(account)


def test_it_hangs(kind, client, account):
    with rehearsal(account, {"hang": True}, when={"first": 1}):
        client.send("Hello", 7)
        client.send("later", 8)
        account.wait(1, payload={"aps": {"alert": "Hello"}})
        # Others are served meanwhile.
        send_other(kind, account)
    assert client.is_open()
    assert [request["payload"]["aps"]["alert"] for request in account.wait(1, outcome="delivered")] == ["other"]


def test_it_hangs_after_acceptance(kind, client, account):
    with rehearsal(account, {"hang": True, "accepted": True}, when={"first": 1}):
        client.send("Hello", 7)
        account.wait(1, payload={"aps": {"alert": "Hello"}}, outcome="delivered")
        client.send("later", 8)
        send_other(kind, account)
    assert client.is_open()
    delivered = [request["payload"]["aps"]["alert"] for request in account.wait(1, outcome="delivered")]
    assert delivered == ["Hello", "other"]


@pytest.mark.parametrize("fault", [{"delay": "PT0.3S"}, {"delay": {"median": "PT0.3S", "p99": "PT0.3S"}}])
def test_it_is_delivered_in_the_end(client, account, fault):
    with rehearsal(account, fault, when={"first": 1}):
        client.send("Hello", 7)
        account.wait(1, outcome="delivered")
    client.send("again", 8)
    account.wait(2, outcome="delivered")
    assert client.is_open()


@pytest.mark.parametrize("fault", [{"delay": "PT10M"}, {"delay": {"median": "PT10M", "p99": "PT10M"}}])
def test_it_waits_while_others_are_served(kind, client, account, fault):
    with rehearsal(account, fault, when={"first": 1}):
        client.send("Hello", 7)
        while not account.service.manage("GET", "/v1/requests?team=" + account.team_id):
            pass
        send_other(kind, account)
    assert client.is_open()
    assert [request["payload"]["aps"]["alert"] for request in account.wait(1, outcome="delivered")] == ["other"]


def test_it_is_lost(client, account):
    with rehearsal(account, {"lose": True}, when={"first": 1}):
        client.send("Hello", 7)
        client.send("again", 8)
        account.wait(1, outcome="lost", payload={"aps": {"alert": "Hello"}})
        account.wait(1, outcome="delivered", payload={"aps": {"alert": "again"}})
    assert client.is_open()


def test_it_is_delivered_twice(client, account):
    with rehearsal(account, {"duplicate": 2}, when={"first": 1}):
        client.send("Hello", 7)
        (request,) = account.wait(1, outcome="delivered")
    while (steps := account.service.steps(request["apnsID"])).count("sent") < 2:
        pass
    assert steps.count("duplicate") == 1
    assert client.is_open()


def test_the_connection_is_refused(kind, tmp_path):
    service = Service()
    account = Account(service, tmp_path)
    with rehearsal(account, {"refuse": True}, match={"protocol": "binary"}, when={"first": 1}):
        client = kind(account)
        client.send("Hello", 7)
        assert client.end() is None
        client.close()
    assert service.manage("GET", "/v1/requests") == []
    send_other(kind, account)
    service.stop()


def test_a_notification_that_is_refused_anyway_meets_no_rule(client, account):
    """The connection ends with its error packet, whatever is rehearsed."""
    other = "ff" * 32
    client.token = other if isinstance(client.token, str) else bytes.fromhex(other)
    body = {"rules": [{"match": {"team": account.team_id}, "fault": {"errorPacket": {"status": 10}}}]}
    begun = account.service.manage("POST", "/v1/rehearsals", body)
    client.send("Hello", 7)
    assert client.end() == (8, 7)
    (rule,) = account.service.manage("DELETE", "/v1/rehearsals/" + begun["rehearsal"])["rules"]
    assert (rule["matched"], rule["fired"]) == (0, 0)
