"""Numbers of a payload keep their value: the same text is read in each language."""

import json
from decimal import Decimal

from carillon_testing import exact_json

TEXT = """{"id":1234567890123456789,"large":1e400,"small":123.456e-789,"long":0.1234567890123456789,"price":1.50,
"text":"1234567890123456789 \\" 1e400","list":[1,2.5,1E2]}"""


def test_no_number_becomes_another_one():
    value = exact_json.loads(TEXT)
    assert value["id"] == 1234567890123456789
    assert [value["large"], value["small"], value["long"]] == [
        Decimal("1e400"), Decimal("123.456e-789"), Decimal("0.1234567890123456789")]
    assert (value["price"], value["list"], value["text"]) == (1.5, [1, 2.5, 100], '1234567890123456789 " 1e400')
    assert type(value["price"]) is float


def test_they_are_written_as_they_are():
    written = exact_json.dumps(exact_json.loads(TEXT))
    assert '"long": 0.1234567890123456789' in written and '"large": 1E+400' in written
    assert exact_json.loads(written) == exact_json.loads(TEXT)
    assert exact_json.dumps({"a": [1, "é"]}) == json.dumps({"a": [1, "é"]})
