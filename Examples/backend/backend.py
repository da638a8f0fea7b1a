#!/usr/bin/env python3
"""A backend beside `carillon provider serve`. The provider server keeps the device tokens and sends; the backend does
what only it can do: it says who the user of an installation is, it says what happened, and it takes the events of the
provider server. Python's standard library is all it needs.

    PROVIDER_URL=http://127.0.0.1:2190 PROVIDER_KEY=sk_… HOOK_SECRET=whsec_… PORT=8080 Examples/backend/backend.py
"""
import base64, hashlib, hmac, json, os, sys, time, urllib.error, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

TEXTS = {"en": {"text": "Your order {{order}} is on its way"}, "fr": {"text": "Votre commande {{order}} est partie"}}


def provider(method, path, body, **headers):
    """Sends a request to the provider server, and returns its status and its JSON."""
    request = urllib.request.Request(os.environ["PROVIDER_URL"] + path, json.dumps(body).encode(), method=method)
    request.add_header("Authorization", "Bearer " + os.environ["PROVIDER_KEY"])
    for name, value in headers.items():
        request.add_header(name.replace("_", "-"), value)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def sign_in(installation, user):
    """A user has signed in. An app cannot say who its user is, because anybody could write such an app."""
    return provider("PATCH", "/v1/installations/" + quote(installation, safe=""), {"user": user})


def shipped(order, user):
    """An order was sent. However often this is repeated, the user is told once."""
    message = {
        "audience": {"users": {user: {"order": order}}}, "texts": TEXTS, "fallbackLanguage": "en",
        "payload": {"aps": {"alert": "{{text}}", "sound": "default"}, "order": "{{order}}"},
    }
    return provider("POST", "/v1/messages", message, Idempotency_Key="shipped-" + order)


def is_signed(headers, body):
    """Whether an event is from the provider server, and new (https://www.standardwebhooks.com)."""
    identifier, moment = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not moment.isascii() or not moment.isdigit() or abs(time.time() - int(moment)) > 300:
        return False
    key = base64.b64decode(os.environ["HOOK_SECRET"].removeprefix("whsec_"))
    code = hmac.new(key, f"{identifier}.{moment}.".encode() + body, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(code)
    return any(hmac.compare_digest(expected, one.encode()) for one in headers.get("webhook-signature", "").split(" "))


class Backend(BaseHTTPRequestHandler):
    """The shop would call `sign_in` and `shipped` itself. Here, requests on this machine do."""

    timeout = 10

    def do_POST(self):
        length = self.headers.get("content-length", "")
        if not length.isascii() or not length.isdigit() or int(length) > 1 << 20:
            return self.answer(413, {"detail": "The body may have 1 MiB."})
        body = self.rfile.read(int(length))
        try:
            if self.path == "/hook":
                return self.take(body)
            values = json.loads(body)
            if self.path == "/sign-in":
                return self.answer(*sign_in(str(values["installation"]), str(values["user"])))
            if self.path == "/shipped":
                return self.answer(*shipped(str(values["order"]), str(values["user"])))
        except (ValueError, KeyError, TypeError) as error:
            return self.answer(400, {"detail": f"The body is not valid: {error}"})
        except OSError as error:
            return self.answer(503, {"detail": f"The provider server cannot be reached: {error}"})
        self.answer(404, {"detail": "There is /sign-in, /shipped and /hook."})

    def take(self, body):
        if not is_signed(self.headers, body):
            return self.answer(401, {"detail": "The signature is not valid."})
        event = json.loads(body)
        # An event can arrive more than once. Printing it again does no harm; to do something once, keep webhook-id.
        for ended in event["data"].get("installations", []):
            print("ended", ended["id"], ended["reason"], flush=True)
        if "message" in event["data"] and event["type"] != "installations.ended":
            print(event["type"], event["data"]["message"]["id"], flush=True)
        self.answer(200, {})

    def answer(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Backend)
    print("listening on", server.server_port, flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)
