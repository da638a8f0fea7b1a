"""A team of a service: what one test needs."""

import secrets
import urllib.parse

from . import exact_json, words
from .errors import CarillonError, WaitTimeout
from .threads import in_thread

# These faults happen before the sender is known, so a rule cannot select a team.
_WITHOUT_TEAM = {"refuse", "certificate", "tls", "handshake"}

# How many requests a failed test shows: a person reads no more.
_SHOWN = 20


class Team:
    """A team with an app and a key. It sees the requests of its own backend, and no others.

    name, id, key_id, private_key, bundle_id: chosen by the service and by this library, unless you pass them. Two teams of a
    service cannot have the same ones.
    """

    def __init__(self, carillon, *, name="Test", id=None, bundle_id=None, key_id=None, private_key=None):
        self.carillon = carillon
        self._management = carillon.management
        self._rehearsals = []
        self._files = {}
        # The endpoints of its subscriptions to Web Push, by name, and whether it has devices without one.
        self._endpoints = {}
        self._has_devices = False
        #: The app, which is also its topic.
        self.bundle_id = bundle_id or "com.example.test-" + secrets.token_hex(6)
        key = {"keyID": key_id, "privateKey": private_key}
        team = {"teamID": id, "name": name, "apps": [self.bundle_id], "keys": [_given(key)]}
        _, made = self._management.ask("POST", "/v1/fixtures", {"teams": [_given(team)]})
        # The number of the newest entry of the journal from before the test.
        self._since = made["service"].get("journal", {}).get("newest", 0)
        made = made["teams"][0]
        self.id = made["teamID"]
        self.key_id = made["keys"][0]["keyID"]
        #: The key that signs provider tokens, in PEM, as in a `.p8` file.
        self.private_key = made["keys"][0]["privateKey"]
        # A backend with data of its own has a team of its own.
        self._scope = {} if carillon.accept == "any" else {"team": self.id}
        self.clock = Clock(self._management, self._scope)

    @property
    def host(self):
        """The host that the backend connects to."""
        return self.carillon.host

    @property
    def port(self):
        """The port that the backend connects to."""
        return self.carillon.port

    @property
    def url(self):
        """The URL of the HTTP/2 API."""
        return self.carillon.url

    @property
    def ca_file(self):
        """The path of a file with the authority that the backend has to trust, in PEM."""
        return self.carillon.ca_file

    @property
    def ca_pem(self):
        """The authority that the backend has to trust, in PEM."""
        return self.carillon.ca_pem

    @property
    def ssl_context(self):
        """A new `ssl.SSLContext` that trusts the service."""
        return self.carillon.ssl_context

    @property
    def key_file(self):
        """The path of a file with `private_key`, which lives as long as the team."""
        from .service import temporary_file
        name = f"AuthKey_{self.key_id}.p8"
        if name not in self._files:
            self._files[name] = temporary_file(name, self.private_key)
        return self._files[name].path

    @property
    def environment(self):
        """Environment variables with all that a backend has to know."""
        return {
            "APNS_URL": self.url, "APNS_HOST": self.host, "APNS_PORT": str(self.port), "APNS_CA_FILE": self.ca_file,
            "APNS_TEAM_ID": self.id, "APNS_KEY_ID": self.key_id, "APNS_KEY_FILE": self.key_file,
            "APNS_PRIVATE_KEY": self.private_key, "APNS_TOPIC": self.bundle_id,
            # OpenSSL, and so Python's ssl and httpx, trust the authorities in this file in place of the system's.
            "SSL_CERT_FILE": self.ca_file,
            # requests, and so pywebpush, trust these.
            "REQUESTS_CA_BUNDLE": self.ca_file,
        }

    def device(self, behaviour="online", *, name="phone", token=None, **values):
        """Makes a virtual device with the app.

        behaviour: "online", "slow", "offline", "silent", "removed" or "expired"; `delay` (seconds) and `since` go with it.
        token: the device token in hexadecimal digits; otherwise the service makes one.
        """
        device = {"team": self.id, "name": name, "behaviour": _behaviour(behaviour, values)}
        if token:
            device["tokens"] = {self.bundle_id: token}
        device.update(values)
        _, made = self._management.ask("POST", "/v1/devices", device)
        subscriptions = made.get("subscriptions", [])
        self._endpoints.update((each["name"], each["endpoint"]) for each in subscriptions)
        self._has_devices |= not subscriptions
        return Device(self, made, token)

    def _endpoint(self, match):
        """Where the backend has to send if this match is about Web Push: the endpoint; otherwise None."""
        is_web_push = match.get("protocol") == "webpush" or "subscription" in match or "text" in match
        if not self._endpoints or not (is_web_push or not self._has_devices):
            return None
        named = [endpoint for name, endpoint in self._endpoints.items() if name == match.get("subscription")]
        return (named or list(self._endpoints.values()))[-1]

    def web_push(self, behaviour="online", *, name=None, vapid=None, plain=False, **values):
        """Makes a virtual device, and a subscription of its app to Web Push (docs/web-push.md).

        name: the subscription's, by which `wait` and `requests` find its messages.
        vapid: the only public key that may sign, in base64url; otherwise anybody may send.
        plain: whether messages without encryption are accepted.
        behaviour, values: as for `device`.
        """
        subscription = _given({"name": name or secrets.token_hex(4), "vapid": vapid, "plain": plain or None})
        return Subscription(self.device(behaviour, subscriptions=[subscription], **values))

    def requests(self, **match):
        """The requests of the backend that match, oldest first: dictionaries as docs/testing.md describes them."""
        query = {
            name: value if isinstance(value, str) else exact_json.dumps(value) for name, value in self._own(match).items()}
        requests = []
        while True:
            parameters = urllib.parse.urlencode({**query, "limit": 1000})
            _, page = self._management.ask("GET", "/v1/requests?" + parameters)
            requests += page
            if len(page) < 1000:
                if not requests:
                    self._check_journal()
                return requests
            query["after"] = page[-1]["number"]

    def _check_journal(self):
        """If the journal is off, nobody knows what was sent."""
        if self._management.ask("GET", "/v1/journal")[1]["keep"] == 0:
            raise CarillonError(f"The journal of the Carillon at {self._management.url} is off, so nobody knows what was sent: "
                                "start it with --journal 10000.")

    def sent(self):
        """The newest requests of the backend, each in one line of text: for the message of a failed test.

        If there is none, the connections that failed.
        """
        try:
            requests = self.requests()
            if not requests:
                query = f"?outcome=failed&after={self._since}&limit={_SHOWN}"
                requests = self._management.ask("GET", "/v1/requests" + query)[1]
        except CarillonError as error:
            return [str(error)]
        return [words.request_line(request) for request in requests[-_SHOWN:]] or ["nothing"]

    def wait(self, count=1, timeout=5, **match):
        """Waits until `count` requests match, and returns them. Requests from before count too.

        With `count` 0 it waits for the whole time, and no request may match. `timeout` is in seconds, at most 600. If the time
        ends first, `WaitTimeout` shows what came instead.
        """
        __tracebackhide__ = True  # pytest shows the line of the test.
        match = self._own(match)
        body = {"match": match, "count": count, "timeout": words.duration(timeout)}
        status, answer = self._management.ask("POST", "/v1/requests/wait", body, timeout, beside={408})
        if status == 408:
            raise WaitTimeout(words.explanation(match, count, timeout, answer, self, self._since), answer)
        return answer["requests"]

    async def wait_async(self, count=1, timeout=5, **match):
        """The same as `wait`, for a test with asyncio whose backend sends in the same event loop."""
        __tracebackhide__ = True
        return await in_thread(lambda: self.wait(count, timeout, **match))

    def rehearse(self, fault, *, match=None, name=None, seed=None, ttl=None, **when):
        """Makes something go wrong for the backend, until the end of the test: `rehearse({"hang": True}, first=1)`.

        fault: {"answer": {"reason": "ServiceUnavailable"}}, {"close": "rst"} and so on: see docs/testing.md.
        when: share=0.1, first=3, every=5, after=100 or between=["PT10S", "PT20S"]; always without it.
        match: which requests; otherwise all of this team.
        """
        match = dict(match or {})
        if not _WITHOUT_TEAM & fault.keys():
            match = self._own(match)
        rule = _given({"match": match, "name": name, "when": when or None, "fault": fault})
        body = _given({"rules": [rule], "seed": seed, "ttl": words.duration(ttl) if ttl else None})
        _, made = self._management.ask("POST", "/v1/rehearsals", body)
        rehearsal = Rehearsal(self._management, made["rehearsal"])
        self._rehearsals.append(rehearsal)
        return rehearsal

    def report(self):
        """What the backend did although Apple advises against it, as a list of findings. A good one has none."""
        query = "?team=" + self._scope["team"] if self._scope else ""
        _, answer = self._management.ask("GET", "/v1/reports" + query)
        return answer["findings"]

    def close(self):
        """Ends the team's rehearsals, and deletes it with its devices and requests."""
        for rehearsal in self._rehearsals:
            rehearsal.end()
        self._rehearsals = []
        for file in self._files.values():
            file.remove()
        self._files = {}
        # A test may have deleted it.
        self._management.ask("DELETE", "/v1/teams/" + self.id, beside={404})

    def _own(self, match):
        return {**self._scope, **{words.key(name): value for name, value in match.items()}}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Subscription:
    """A subscription of an app on a virtual device to Web Push, with what a Web Push library needs to send to it."""

    def __init__(self, device):
        made = device.subscriptions[0]
        #: The device. `behave` changes what it does.
        self.device = device
        #: The name that the journal has: `apns.wait(subscription=subscription.name)`.
        self.name = made["name"]
        #: The URL to send to.
        self.endpoint = made["endpoint"]
        #: The public key, in base64url.
        self.p256dh = made["p256dh"]
        #: The secret, in base64url.
        self.auth = made["auth"]
        #: The private key, in base64url. A test does not need it: the journal has what a message says.
        self.private_key = made["privateKey"]

    @property
    def info(self):
        """The subscription as a browser gives it to its server, and as pywebpush takes it."""
        return {"endpoint": self.endpoint, "keys": {"p256dh": self.p256dh, "auth": self.auth}}


class Device:
    """A virtual device."""

    def __init__(self, team, made, token):
        self._management = team._management
        self.id = made["deviceID"]
        #: Its subscriptions to Web Push, as dictionaries.
        self.subscriptions = made.get("subscriptions", [])
        #: The device token in hexadecimal digits.
        self.token = token or next(app["token"] for app in made["apps"] if app["bundleID"] == team.bundle_id)

    def behave(self, behaviour, **values):
        """Changes what the device does from now on: see `Team.device`."""
        self._management.ask("PATCH", "/v1/devices/" + self.id, {"behaviour": _behaviour(behaviour, values)})

    def remove(self):
        """Removes the device."""
        self._management.ask("DELETE", "/v1/devices/" + self.id)


class Clock:
    """The team's clock. It runs like the machine's, and can be advanced."""

    def __init__(self, management, scope):
        self._management = management
        self._scope = scope

    @property
    def now(self):
        """The team's time: ISO 8601 in UTC."""
        query = "?team=" + self._scope["team"] if self._scope else ""
        return self._management.ask("GET", "/v1/clock" + query)[1]["now"]

    def advance(self, by):
        """Advances it by seconds, a `timedelta` or a text such as "PT1H". Afterwards everything that became due has happened."""
        return self._management.ask("POST", "/v1/clock", {**self._scope, "advance": words.duration(by)})[1]["now"]


class Rehearsal:
    """Faults that were arranged with `Team.rehearse`."""

    def __init__(self, management, id):
        self._management = management
        self.id = id

    @property
    def fired(self):
        """How often the fault has happened."""
        _, answer = self._management.ask("GET", "/v1/rehearsals/" + self.id)
        return sum(rule["fired"] for rule in answer["rules"])

    def end(self):
        """Ends it. At the end of the test this happens by itself."""
        self._management.ask("DELETE", "/v1/rehearsals/" + self.id, beside={404})


def _given(values):
    return {name: value for name, value in values.items() if value is not None}


def _behaviour(kind, values):
    behaviour = {"kind": kind}
    if "delay" in values:
        behaviour["delay"] = words.duration(values.pop("delay"))
    if "since" in values:
        behaviour["since"] = values.pop("since")
    return behaviour
