"""Payloads keep what they say: the same text is read in each language."""

import json
from decimal import Decimal

import pytest
from carillon_testing import ExactNumber, WaitTimeout, exact_json
from test_httpx import notify

TEXT = """{"id":1234567890123456789,"large":1e400,"small":123.456e-789,"long":0.1234567890123456789,"price":1.50,
"text":"1234567890123456789 \\" 1e400","list":[1,2.5,1E2]}"""


def test_no_number_becomes_another_one():
    value = exact_json.loads(TEXT)
    assert value["id"] == 1234567890123456789
    assert [value["large"], value["small"], value["long"]] == [
        Decimal("1e400"), Decimal("123.456e-789"), Decimal("0.1234567890123456789")]
    assert (value["price"], value["list"], value["text"]) == (1.5, [1, 2.5, 100], '1234567890123456789 " 1e400')
    assert type(value["price"]) is float


def test_they_are_written_as_they_came():
    written = exact_json.dumps(exact_json.loads(TEXT))
    assert '"long": 0.1234567890123456789' in written and '"large": 1e400' in written
    assert exact_json.loads(written) == exact_json.loads(TEXT)


@pytest.mark.parametrize("number", [
    "-0", "-0.0", "18446744073709551615", "-9223372036854775809", "1E400", "9" * 4400, "-" + "9" * 4400, "0." + "1" * 4400,
    "1e1000000000000000000", "-1E-99999999999999999999", "0e99999999999999999999"])
def test_a_number_of_any_size_is_written_as_it_came(number):
    value = exact_json.loads(f'{{"n":[{number}]}}')
    assert exact_json.dumps(value) == f'{{"n": [{number}]}}'
    assert value == exact_json.loads(f'{{"n":[{number}]}}')


def test_a_number_that_no_decimal_holds_is_compared_by_its_text():
    number = exact_json.loads("1e1000000000000000000")
    assert number == ExactNumber("1e1000000000000000000") and number != ExactNumber("1e1000000000000000001")
    assert str(number) == "1e1000000000000000000"
    assert exact_json.loads("9" * 4400) == 10 ** 4400 - 1


def test_what_a_test_writes_is_what_json_writes():
    for value in [{"a": [1, "é", -2.5, None, True, {}, []], 1: (), None: 0, True: "\n"}, "text", 0]:
        assert exact_json.dumps(value) == json.dumps(value)
        assert exact_json.dumps(value, ensure_ascii=False) == json.dumps(value, ensure_ascii=False)
    assert exact_json.dumps([10 ** 4400, Decimal("1.50")]) == f"[1{'0' * 4400}, 1.50]"
    with pytest.raises(TypeError):
        exact_json.dumps({"a": object()})


@pytest.mark.parametrize("text, read", [
    (r"hi \ud83d", "hi \ufffd"), (r"\uD83Dx\uDE00", "\ufffdx\ufffd"), (r"\ud83d\ud83d\ude00", "\ufffd😀"), (r"\\ud83d", r"\ud83d"),
    (r"\\\ud83d", "\\\ufffd"), (r"\ud83d\n", "\ufffd\n")])
def test_half_a_character_is_read_as_the_service_reads_it(text, read):
    assert exact_json.loads(f'{{"{text}":["{text}"]}}'.encode()) == {read: [read]}


def test_half_a_character_is_written_as_the_service_reads_it():
    assert exact_json.dumps({"\ud83d": "hi \ud83d"}, ensure_ascii=False) == '{"\ufffd": "hi \ufffd"}'
    assert exact_json.dumps("\ud83d\ude00", ensure_ascii=False) == '"😀"'


def test_a_payload_of_the_journal_matches_itself(apns, apns_environment):
    body = r'{"aps":{"alert":"hi \ud83d"},"beyond":1E99999999999999999999,"zero":-0,"digits":' + "9" * 4400 + "}"
    assert notify(apns.device().token, body.encode(), push_type="voip") == (200, None)
    (request,) = apns.wait(outcome="delivered")
    assert request["payload"]["aps"] == {"alert": "hi \ufffd"}
    assert apns.wait(payload=request["payload"]) == [request]
    assert apns.requests(payload=request["payload"]) == [request]
    # A backend that cuts its texts has the half too.
    assert apns.wait(payload={"aps": {"alert": "hi \ud83d"}}) == [request]
    with pytest.raises(WaitTimeout) as failure:
        apns.wait(timeout=0, payload={"aps": {"alert": "\ud83d"}})
    assert 'payload is {"aps": {"alert": "hi \ufffd"}, "beyond": 1E99999999999999999999, "zero": -0' in str(failure.value)
    assert 'not {"aps": {"alert": "\ufffd"}}' in str(failure.value)
