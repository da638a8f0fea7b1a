"""JSON in which no number becomes another one."""

import json
import math
import secrets
from decimal import Decimal


def loads(text):
    """Reads JSON. A number that a float would change is a Decimal."""
    return json.loads(text, parse_float=_number)


def dumps(value, **options):
    """Writes JSON, with the digits of each Decimal."""
    # The encoder takes no digits as they are, so each Decimal is a text first that is nowhere else in the value.
    mark = secrets.token_hex(16)
    digits = []

    def text(number):
        if not isinstance(number, Decimal):
            raise TypeError(f"{type(number).__name__} is nothing that JSON has")
        digits.append(str(number))
        return f"{mark}{len(digits) - 1}."

    written = json.dumps(value, default=text, **options)
    for index, number in enumerate(digits):
        written = written.replace(f'"{mark}{index}."', number)
    return written


def _number(text):
    near = float(text)
    return near if math.isfinite(near) and Decimal(repr(near)) == Decimal(text) else Decimal(text)
