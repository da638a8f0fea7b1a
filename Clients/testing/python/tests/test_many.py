"""Two hundred tests that run at the same time over one service, without a sleep: each has a team of its own."""

import pytest
from test_httpx import notify


@pytest.mark.parametrize("number", range(200))
def test_a_test_sees_its_own_requests(apns, apns_environment, number):
    phone = apns.device()
    apns.rehearse({"answer": {"reason": "ServiceUnavailable"}}, first=1)
    assert notify(phone.token, {"number": number}) == (503, "ServiceUnavailable")
    assert notify(phone.token, {"number": number}) == (200, None)
    (request,) = apns.wait(outcome="delivered", timeout=60)
    assert request["payload"] == {"number": number}
    assert len(apns.requests()) == 2
