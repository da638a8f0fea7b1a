"""Two hundred tests that run at the same time over one service, without a sleep: each has a team of its own."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from carillon_testing import Carillon
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


def test_threads_that_begin_together_see_their_own_requests(monkeypatch):
    begin = threading.Barrier(COUNT)

    def run(number):
        begin.wait()
        with carillon.team() as apns:
            sees_its_own_requests(apns, number, environment=apns.environment)

    # A service of their own: a debug build is busy with them for seconds, in which no wait of another test would be answered.
    with Carillon.start() as carillon, ThreadPoolExecutor(COUNT) as threads:
        # httpx trusts it.
        monkeypatch.setenv("SSL_CERT_FILE", carillon.ca_file)
        list(threads.map(run, range(COUNT)))
