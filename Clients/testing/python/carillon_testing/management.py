"""Sends requests to the management API."""

import http.client
import json
import os
import select
import urllib.parse

from .errors import CarillonError


class Management:
    """The management API of one service.

    Threads may share it: a request takes an idle connection, or opens one. A suite makes thousands of requests, and a service
    counts how often an address connects (`limit.management-connect-rate`).
    """

    def __init__(self, url, key, explain=None):
        self.url = url.rstrip("/")
        self.key = key
        self._explain = explain or (lambda: None)
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CarillonError(f"CARILLON_MANAGEMENT_URL is {url}: set it to a URL such as http://localhost:2198.")
        self._open = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self.host = parts.hostname
        self._port = parts.port
        self._path = parts.path
        # A list's append and pop are atomic, so that threads need no lock. A forked process leaves its parent's alone.
        self._idle = []
        self._owner = os.getpid()

    def ask(self, method, path, body=None, timeout=30, beside=()):
        """Sends a request, and returns the status and the answer.

        `beside` has the statuses that are no errors beside 2xx. `timeout` is the longest time in seconds.
        """
        headers = {"Authorization": "Bearer " + self.key} if self.key else {}
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(body).encode()
        connection = None
        try:
            connection = self._connection(timeout)
            connection.request(method, self._path + path, body, headers)
            answer = connection.getresponse()
            status, text = answer.status, answer.read()
        except BaseException as error:
            # The rest of an answer that was not read whole would be taken for the next one.
            if connection:
                connection.close()
            if not isinstance(error, (OSError, http.client.HTTPException)):
                raise
            raise CarillonError(
                self._explain() or f"The Carillon at {self.url} does not answer ({error or type(error).__name__}): "
                "check that it runs, and that CARILLON_MANAGEMENT_URL is its address.") from None
        if connection.sock:
            self._idle.append(connection)
        if status // 100 != 2 and status not in beside:
            raise CarillonError(self._refusal(method, path, status, text), status)
        try:
            return status, json.loads(text) if text else None
        except ValueError:
            raise CarillonError(f"{self.url} is not Carillon's management API: check CARILLON_MANAGEMENT_URL.") from None

    def close(self):
        """Closes the idle connections."""
        while self._idle and self._owner == os.getpid():
            self._idle.pop().close()

    def _connection(self, timeout):
        """An idle connection that the service has not closed, or else a new one."""
        if self._owner != os.getpid():
            self._idle, self._owner = [], os.getpid()
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._open(self.host, self._port, timeout=timeout)
                connection.connect()
                return connection
            # Nothing has been asked, so what can be read is the connection's end.
            readable = select.poll()
            readable.register(connection.sock, select.POLLIN)
            if not readable.poll(0):
                connection.sock.settimeout(timeout)
                return connection
            connection.close()

    def _refusal(self, method, path, status, text):
        if status == 401:
            return f"The Carillon at {self.url} refuses the key: set CARILLON_MANAGEMENT_KEY to its key."
        try:
            problem = json.loads(text)
            detail, pointer = problem.get("detail") or problem.get("title"), problem.get("pointer")
        except (ValueError, AttributeError):
            return f"{self.url} is not Carillon's management API ({method} {path} got {status}): check CARILLON_MANAGEMENT_URL."
        return f"{detail} ({method} {path}, {status}{', at ' + pointer if pointer else ''})"
