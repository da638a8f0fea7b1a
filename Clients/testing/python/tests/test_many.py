"""Two hundred tests that run at the same time over one service, without a sleep: each has a team of its own."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from test_httpx import notify

COUNT = 200


def sees_its_own_requests(apns, number, **environment):
    phone = apns.device()
    apns.rehearse({"answer": {"reason": "ServiceUnavailable"}}, first=1)
    assert notify(phone.token, {"number": number}, **environment) == (503, "ServiceUnavailable")
    assert notify(phone.token, {"number": number}, **environment) == (200, None)
    (request,) = apns.wait(outcome="delivered", timeout=60)
    assert request["payload"] == {"number": number}
    assert len(apns.requests()) == 2


@pytest.mark.parametrize("number", range(COUNT))
def test_a_test_sees_its_own_requests(apns, apns_environment, number):
    sees_its_own_requests(apns, number)


def test_threads_that_begin_together_see_their_own_requests(carillon, monkeypatch):
    # httpx trusts it.
    monkeypatch.setenv("SSL_CERT_FILE", carillon.ca_file)
    begin = threading.Barrier(COUNT)

    def run(number):
        begin.wait()
        with carillon.team() as apns:
            sees_its_own_requests(apns, number, environment=apns.environment)

    with ThreadPoolExecutor(COUNT) as threads:
        list(threads.map(run, range(COUNT)))
