"""Values and explanations in the words of the management API."""

import datetime
import json

_KEYS = {"push_type": "pushType", "apns_id": "apnsID", "collapse_id": "collapseID"}


def key(name):
    """A key of a match. Python's spelling works too: push_type, apns_id, collapse_id."""
    return _KEYS.get(name, name)


def duration(value):
    """A duration in ISO 8601, from seconds, a `timedelta` or such a text."""
    if isinstance(value, str):
        return value
    if isinstance(value, datetime.timedelta):
        value = value.total_seconds()
    return f"PT{value:.3f}S"


def request_line(request):
    """A request in one line."""
    status = request.get("status")
    answer = f"{status} {request.get('reason', '')}".strip() if status is not None else "no answer yet"
    parts = [f"#{request['number']}", answer]
    if request.get("outcome"):
        parts.append(request["outcome"])
    for name in ("topic", "token", "channel"):
        if request.get(name):
            parts.append(f"{name} {request[name]}")
    parts.append(f"payload {shown(request['payload'])}" if "payload" in request else "no payload")
    if request.get("rule"):
        parts.append(f"fault {request['rule']}")
    return ", ".join(parts)


def explanation(match, count, timeout, answer, url):
    """Why a wait failed, from the answer 408."""
    matched = answer.get("matched", 0)
    team = match.get("team")
    shown_match = {name: value for name, value in match.items() if name != "team"}
    wanted = f" {shown(shown_match)}" if shown_match else ""
    expected = f"instead of {count}" if count else "but none should"
    lines = [f"{matched} requests matched{wanted} within {duration(timeout)[2:-1].rstrip('0').rstrip('.')} s, {expected}."]
    # Requests of other tests' teams say nothing about this one.
    nearest = [miss for miss in answer.get("nearest", []) if team is None or miss["request"].get("team") in (None, team)]
    for miss in nearest:
        request = miss["request"]
        lines.append("  " + request_line(request))
        for name in miss["differs"]:
            lines.append(f"    {name} is {shown(_value(request, name))}, not {shown(match.get(name))}")
        if not miss["differs"]:
            lines.append("    matches")
    if not nearest and not matched:
        lines.append(f"  The backend has sent nothing: it has to connect to {url}, and trust the authority in ca_file.")
    return "\n".join(lines)


def _value(request, key):
    """The value of a key of a match."""
    # These are header fields of the request.
    field = {"pushType": "apns-push-type", "collapseID": "apns-collapse-id"}.get(key)
    return request.get("headers", {}).get(field) if field else request.get(key)


def shown(value):
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else text[:300] + "…"
