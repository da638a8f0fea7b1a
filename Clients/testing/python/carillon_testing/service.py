"""A service for tests."""

import os
import tempfile
from pathlib import Path

from .errors import CarillonError
from .management import Management
from .program import Program
from .team import Team


class Carillon:
    """A service: one that was started for the tests, or one that runs already.

    All tests may share it: each takes a `team()` of its own.
    """

    @classmethod
    def start(cls, *, accept=None, options=(), start_timeout=30):
        """Starts a service, or uses the one that CARILLON_MANAGEMENT_URL names.

        accept: "any" makes unknown teams, keys, topics and device tokens at their first sight. Then a team sees the requests
            of all teams, because the backend has data of its own.
        options: more options of `carillon serve`, for example ["--conformance", "strict"].
        start_timeout: the longest time in seconds until it is ready.
        """
        if os.environ.get("CARILLON_MANAGEMENT_URL"):
            return cls.attach(accept=accept)
        options = [
            "--clock", "virtual", "--web-push", "127.0.0.1:0", *(["--accept", accept] if accept else []), *options]
        program = Program(options, start_timeout)
        ready = program.ready
        management = Management(ready["management"]["url"], ready["management"]["key"], program.ending)
        return cls(management, ready, program, accept)

    @classmethod
    def attach(cls, url=None, key=None, *, accept=None):
        """Uses a service that runs already. The default is the one that CARILLON_MANAGEMENT_URL and CARILLON_MANAGEMENT_KEY
        name. It needs `--clock virtual` for the clock, and a journal."""
        url = url or os.environ.get("CARILLON_MANAGEMENT_URL")
        if not url:
            raise CarillonError("No service is named: set CARILLON_MANAGEMENT_URL, or pass a URL.")
        management = Management(url, key or os.environ.get("CARILLON_MANAGEMENT_KEY"))
        return cls(management, management.describe(), None, accept)

    def __init__(self, management, description, program, accept):
        self.management = management
        self._program = program
        self.accept = accept
        #: The root certificate that the backend has to trust, in PEM.
        self.ca_pem = description["caPEM"]
        addresses = description.get("development")
        if not addresses:
            raise CarillonError("This Carillon does not serve the development environment: start it with "
                                "--environment development.")
        #: Where the backend connects to: the HTTP/2 API.
        self.host, self.port = self._address("PROVIDER", addresses["provider"])
        #: The same for the binary API.
        self.binary_host, self.binary_port = self._address("BINARY", addresses["binary"])
        self._ca_file = None

    def _address(self, name, address):
        # A container has ports of its own: variables say to which ones of this machine they are mapped.
        mapped = os.environ.get(f"CARILLON_{name}_ADDRESS") if self._program is None else None
        host, _, port = (mapped or address).rpartition(":")
        if not port.isdecimal() or not host:
            raise CarillonError(f"CARILLON_{name}_ADDRESS is {mapped}: set it to a host and a port, such as localhost:2197.")
        host = host.strip("[]")
        # An address that only that machine can reach, or every address of it: it is reached as the management API is.
        if self._program is None and not mapped and host in ("0.0.0.0", "::", "127.0.0.1", "::1"):
            host = self.management.host
        return host, int(port)

    @property
    def url(self):
        """The URL of the HTTP/2 API."""
        return f"https://{_bracketed(self.host)}:{self.port}"

    @property
    def ca_file(self):
        """The path of a file with `ca_pem`, which lives as long as this object."""
        if self._ca_file is None:
            self._ca_file = temporary_file("ca.pem", self.ca_pem)
        return self._ca_file.path

    @property
    def ssl_context(self):
        """A new `ssl.SSLContext` that trusts the service."""
        import ssl
        return ssl.create_default_context(cadata=self.ca_pem)

    def team(self, **settings):
        """Makes a team with an app and a key: see `Team`. End it with its `close()`, or use it in a `with`."""
        return Team(self, **settings)

    def close(self):
        """Ends the service, if it was started for the tests."""
        self.management.close()
        if self._program is not None:
            self._program.close()
        if self._ca_file is not None:
            self._ca_file.remove()
            self._ca_file = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _bracketed(host):
    return f"[{host}]" if ":" in host else host


class temporary_file:
    """A file in a folder of its own, which only its owner can read."""

    def __init__(self, name, text):
        self._folder = tempfile.TemporaryDirectory(prefix="carillon-")
        file = Path(self._folder.name) / name
        file.write_text(text)
        self.path = str(file)

    def remove(self):
        self._folder.cleanup()
