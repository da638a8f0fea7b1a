"""JSON as the service reads it: no number becomes another one, and half a character is U+FFFD."""

import dataclasses
import decimal
import json
import math
import re
from decimal import Decimal


@dataclasses.dataclass(frozen=True)
class ExactNumber:
    """A number that even a Decimal cannot hold, such as 1e1000000000000000000. It is equal to one that is written alike."""

    #: The number as it came.
    text: str

    def __str__(self):
        return self.text


def loads(text):
    """Reads JSON. A number that an int or a float would change is a Decimal, or an ExactNumber if that cannot hold it."""
    if isinstance(text, bytes):
        text = text.decode()
    return json.loads(_ESCAPE.sub(_whole_escape, text), parse_int=_integer, parse_float=_number)


def dumps(value, ensure_ascii=True):
    """Writes JSON as `json.dumps` does, with the digits of each number."""
    def written(value):
        if isinstance(value, str):
            return json.dumps(_whole(value), ensure_ascii=ensure_ascii)
        if isinstance(value, dict):
            members = (f"{written(key if isinstance(key, str) else written(key))}: {written(each)}" for key, each in value.items())
            return "{" + ", ".join(members) + "}"
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(map(written, value)) + "]"
        if isinstance(value, (ExactNumber, Decimal)):
            return str(value)
        if isinstance(value, int) and not isinstance(value, bool):
            # Python refuses to write an int of more than 4,300 digits (sys.set_int_max_str_digits). A Decimal holds it.
            return str(Decimal(value))
        return json.dumps(value)

    return written(value)


class _WrittenDecimal(Decimal):
    """A Decimal that is written as it came: 1e400 and not 1E+400."""

    __slots__ = ("_text",)

    def __new__(cls, text):
        number = super().__new__(cls, text)
        number._text = text
        return number

    def __str__(self):
        return self._text


def _exact(text):
    try:
        number = _WrittenDecimal(text)
    except decimal.InvalidOperation:
        return ExactNumber(text)
    # If the test has switched that error off, the Decimal is NaN.
    return number if number.is_finite() else ExactNumber(text)


def _integer(text):
    try:
        return int(text) if text != "-0" else _exact(text)
    except ValueError:
        # It has more digits than Python reads.
        return _exact(text)


def _number(text):
    near, exact = float(text), _exact(text)
    is_float = math.isfinite(near) and isinstance(exact, Decimal) and Decimal(repr(near)) == exact
    return near if is_float else exact


# An escape of JSON: a character of two halves, half a character, or any other one (RFC 8259, 7 and 8.2).
_ESCAPE = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL)


def _whole_escape(escape):
    return "\ufffd" if escape[1] else escape[0]


def _whole(text):
    """The text with U+FFFD in place of each half of a character, which UTF-8 cannot write."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
