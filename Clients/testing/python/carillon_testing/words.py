"""Values and explanations in the words of the management API."""

import datetime
import urllib.parse

from . import exact_json

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
    """A request in one line, or a connection that failed before a request."""
    if request.get("outcome") == "failed":
        return f"#{request['number']}, a connection of {request.get('client', 'a client')} failed: {request.get('cause')}"
    status = request.get("status")
    answer = f"{status} {request.get('reason', '')}".strip() if status is not None else "no answer yet"
    parts = [f"#{request['number']}", answer]
    if request.get("outcome"):
        parts.append(request["outcome"])
    for name in ("topic", "token", "channel", "subscription"):
        if request.get(name):
            parts.append(f"{name} {request[name]}")
    for name in ("payload", "text"):
        if name in request:
            parts.append(f"{name} {shown(request[name])}")
    if "payload" not in request and "text" not in request:
        parts.append("no text" if request.get("protocol") == "webpush" else "no payload")
    if request.get("rule"):
        parts.append(f"fault {request['rule']}")
    return ", ".join(parts)


# Alerts of a client that does not trust a certificate (RFC 8446, 6.2).
_DISTRUST = {
    "bad_certificate", "unsupported_certificate", "certificate_revoked", "certificate_expired", "certificate_unknown", "unknown_ca"}


# A connection that failed before a request has no team, and tests that run at the same time share the service.
_WHOSE = "a connection since this test began, perhaps another test's"


def _trouble(connection, host):
    """A sentence about a connection that failed before a request: what is wrong, and what to do."""
    alert, cause = connection.get("alert"), connection.get("cause", "")
    if "protocols" in connection:
        offered = ", ".join(connection["protocols"])
        how = f"it offered only {offered}" if offered else "it sent a request of HTTP/1"
        return f"The backend does not speak HTTP/2 ({_WHOSE}: {how}): APNs takes nothing else, so send with a client for HTTP/2."
    if alert in _DISTRUST or (alert is None and cause.startswith("the client ended the connection")):
        how = f"its alert is {alert}" if alert else cause
        return (f"The backend does not trust the service ({_WHOSE}: {how}): let it trust the authority in apns.ca_file, "
                f"apns.ca_pem or apns.ssl_context, and connect to {host}.")
    return f"A connection of {connection.get('client', 'a client')} failed ({_WHOSE}): {cause}."


def explanation(match, count, timeout, answer, apns, since):
    """Why a wait failed, from the answer 408.

    since: the number of the newest entry of the journal from before the test.
    """
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
        endpoint = apns._endpoint(match)
        # Without a request, the newest connection that failed says more than anything else.
        failed = [connection for connection in answer.get("failed", []) if connection["number"] > since]
        if failed:
            lines.insert(0, _trouble(failed[0], urllib.parse.urlsplit(endpoint).hostname if endpoint else apns.host))
        elif answer.get("dropped", 0) > since:
            lines.append("  The journal has dropped requests since this test began, perhaps the backend's: start the service with a larger --journal.")
        else:
            place = f"send to {endpoint}" if endpoint else f"connect to {apns.url}"
            lines.append(f"  The backend has sent nothing: it has to {place}, and trust the authority in apns.ca_file.")
    return "\n".join(lines)


def _value(request, key):
    """The value of a key of a match."""
    # These are header fields of the request.
    field = {"pushType": "apns-push-type", "collapseID": "apns-collapse-id"}.get(key)
    return request.get("headers", {}).get(field) if field else request.get(key)


def shown(value):
    text = "nothing" if value is None else exact_json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else text[:300] + "…"
