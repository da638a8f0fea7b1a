"""Sends requests to the management API."""

import http.client
import os
import select
import socket
import urllib.parse

from . import exact_json
from .errors import CarillonError
from .program import OLDEST

# The longest times in seconds until the service answers: a request that waits for nothing; and beyond the time of a wait, and
# for each request after one that was not answered.
_LIMIT, _SHORT_LIMIT = 30, 5

# The service has closed the connection, and has not answered.
_CLOSED = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)


class Management:
    """The management API of one service.

    Threads may share it: a request takes an idle connection, or opens one. A suite makes thousands of requests, and a service
    counts how often an address connects (`limit.management-connect-rate`).
    """

    def __init__(self, url, key, explain=None, limits=(_LIMIT, _SHORT_LIMIT)):
        """explain: a sentence about the end of a service that was started here; None if it was not started here."""
        # A secret of CI often ends with a newline.
        self.url = url.strip().rstrip("/")
        self.key = (key or "").strip()
        self._explain = explain
        self._limit, self._short_limit = limits
        self._is_silent = False
        parts = urllib.parse.urlsplit(self.url)
        try:
            self._port = parts.port
        except ValueError:
            parts = parts._replace(netloc="")  # Above 65535.
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CarillonError(f"CARILLON_MANAGEMENT_URL is {self.url}: set it to a URL such as http://localhost:2198.")
        if not all("!" <= character <= "~" for character in self.key):
            raise CarillonError("CARILLON_MANAGEMENT_KEY has a character that no key has, such as a space: set it to the key alone.")
        self._open = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self.host = parts.hostname
        self._path = parts.path
        # A list's append and pop are atomic, so that threads need no lock. A forked process leaves its parent's alone.
        self._idle = []
        self._owner = os.getpid()

    def ask(self, method, path, body=None, wait=None, beside=()):
        """Sends a request, and returns the status and the answer.

        `beside` has the statuses that are no errors beside 2xx. `wait` is how long the service may wait before it answers, in
        seconds.
        """
        is_short = wait is not None or self._is_silent
        timeout = (wait or 0) + (self._short_limit if is_short else self._limit)
        headers = {"Authorization": "Bearer " + self.key} if self.key else {}
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = exact_json.dumps(body).encode()
        try:
            status, text = self._answer(method, self._path + path, body, headers, timeout)
        except (OSError, http.client.HTTPException) as error:
            raise CarillonError(self._explain and self._explain() or self._failure(error, timeout)) from None
        self._is_silent = False
        if status // 100 != 2 and status not in beside:
            raise self._refusal(method, path, status, text)
        try:
            return status, exact_json.loads(text) if text else None
        except ValueError:
            raise self._stranger(method, path, status) from None

    def _stranger(self, method, path, status):
        return CarillonError(
            f"{self.url} is not Carillon's management API ({method} {path} got {status}): check CARILLON_MANAGEMENT_URL.", status)

    def describe(self):
        """Where the service is, and what to trust, from the service itself."""
        path = "/v1/fixtures"
        # A fixture without teams makes nothing. Its answer has the addresses and the authority.
        status, made = self.ask("POST", path, {"teams": []})
        service = made.get("service") if isinstance(made, dict) else None
        if not isinstance(service, dict) or not isinstance(service.get("caPEM"), str):
            raise self._stranger("POST", path, status)
        if "journal" not in service:
            raise CarillonError(f"The Carillon at {self.url} is older than this package: start Carillon {OLDEST} or newer there.")
        return service

    def close(self):
        """Closes the idle connections."""
        while self._idle and self._owner == os.getpid():
            self._idle.pop().close()

    def _answer(self, method, path, body, headers, timeout):
        while True:
            connection, is_new = self._connection(timeout)
            try:
                connection.request(method, path, body, headers)
                answer = connection.getresponse()
                status, text = answer.status, answer.read()
            except _CLOSED:
                connection.close()
                # The service closes a connection only while it is idle, so it has not seen this request.
                if is_new:
                    raise
            except BaseException:
                # The rest of an answer that was not read whole would be taken for the next one.
                connection.close()
                raise
            else:
                if connection.sock:
                    self._idle.append(connection)
                return status, text

    def _connection(self, timeout):
        """An idle connection that the service has not closed, or else a new one, and whether it is new."""
        if self._owner != os.getpid():
            self._idle, self._owner = [], os.getpid()
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._open(self.host, self._port, timeout=timeout)
                connection.connect()
                return connection, True
            # Nothing has been asked, so what can be read is the connection's end.
            readable = select.poll()
            readable.register(connection.sock, select.POLLIN)
            if not readable.poll(0):
                connection.sock.settimeout(timeout)
                return connection, False
            connection.close()

    def _failure(self, error, timeout):
        name = "The Carillon of this test run" if self._explain else f"The Carillon at {self.url}"
        if isinstance(error, _CLOSED):
            advice = "" if self._explain else "check that CARILLON_MANAGEMENT_URL has the port of the management API; "
            return (f"{name} closed the connection before its answer: {advice}if its log names a limit, such as "
                    "management-connections, raise it.")
        cause = str(error) or type(error).__name__
        if isinstance(error, (TimeoutError, socket.timeout)):
            self._is_silent = True
            cause = f"no answer within {timeout:g} s"
        advice = ("it is stopped or overloaded" if self._explain
                  else "check that it runs, and that CARILLON_MANAGEMENT_URL is its address")
        return f"{name} does not answer ({cause}): {advice}."

    def _refusal(self, method, path, status, text):
        if status == 401:
            cause = "refuses the key" if self.key else "needs a key, and CARILLON_MANAGEMENT_KEY is empty or not set"
            return CarillonError(f"The Carillon at {self.url} {cause}: set CARILLON_MANAGEMENT_KEY to its key.", status)
        try:
            problem = exact_json.loads(text)
            detail, pointer = problem.get("detail") or problem.get("title"), problem.get("pointer")
        except (ValueError, AttributeError):
            detail = None
        if not detail:
            return self._stranger(method, path, status)
        return CarillonError(f"{detail} ({method} {path}, {status}{', at ' + pointer if pointer else ''})", status)
