"""The fixtures for pytest. The wheel registers this module, so they need no configuration."""

import importlib
import importlib.util

import pytest

from .distribution import Distribution, from_controller
from .errors import CarillonError
from .service import Carillon
from .team import Team

_shared = pytest.StashKey()


def pytest_addoption(parser):
    parser.addini("carillon_options", "More options of `carillon serve`, for every service of the tests.", "args", [])


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "apns(accept=None, options=(), **team): what the fixture apns is for this test. accept=\"any\" and options give it a "
        "service of its own; id, name, bundle_id, key_id and private_key are those of its team.")
    config.stash[_shared] = _Shared(config)
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(Distribution(lambda: config.stash[_shared].start().management))


def pytest_unconfigure(config):
    shared = config.stash.get(_shared, None)
    if shared is not None:
        shared.close()


class _Shared:
    """The service of the whole run, which the first test that needs it starts."""

    def __init__(self, config):
        self._options = config.getini("carillon_options")
        self._controller = getattr(config, "workerinput", {}).get("carillon")
        self._carillon = None
        self._error = None

    def start(self):
        if self._carillon is None:
            # A second attempt would only let each test wait as long as the first.
            if self._error is not None:
                raise CarillonError(self._error)
            try:
                self._carillon = self._start()
            except CarillonError as error:
                self._error = str(error)
                raise
        return self._carillon

    def _start(self):
        if self._controller is None:
            return Carillon.start(options=self._options)
        return Carillon.attach(*from_controller(self._controller))

    def close(self):
        if self._carillon is not None:
            self._carillon.close()
            self._carillon = None


@pytest.fixture(scope="session")
def carillon(pytestconfig):
    """The service that all tests share."""
    return pytestconfig.stash[_shared].start()


@pytest.fixture
def apns(request, pytestconfig):
    """A push notification service with a team for this test: a `carillon_testing.Team`."""
    marker = request.node.get_closest_marker("apns")
    settings = dict(marker.kwargs) if marker else {}
    accept, options = settings.pop("accept", None), settings.pop("options", ())
    if accept is None and not options:
        with Team(pytestconfig.stash[_shared].start(), **settings) as team:
            yield team
    else:
        options = [*pytestconfig.getini("carillon_options"), *options]
        with Carillon.start(accept=accept, options=options) as own, Team(own, **settings) as team:
            yield team


@pytest.fixture
def apns_environment(apns, monkeypatch):
    """Directs the backend to the fixture `apns`, without a change of the backend.

    Sets the variables of `apns.environment`, and the addresses that aioapns and PyAPNs2 have as constants.
    """
    for name, value in apns.environment.items():
        monkeypatch.setenv(name, value)
    connection = _module("aioapns.connection")
    if connection is not None:
        for protocol in (connection.APNsDevelopmentClientProtocol, connection.APNsProductionClientProtocol):
            monkeypatch.setattr(protocol, "APNS_SERVER", apns.host)
            monkeypatch.setattr(protocol, "APNS_PORT", apns.port, raising=False)
    client = _module("apns2.client")
    if client is not None:
        for name, value in (("SANDBOX_SERVER", apns.host), ("LIVE_SERVER", apns.host),
                            ("DEFAULT_PORT", apns.port), ("ALTERNATIVE_PORT", apns.port)):
            monkeypatch.setattr(client.APNsClient, name, value)
        # hyper, on which PyAPNs2 is made, trusts the authorities in this file.
        tls = _module("hyper.tls")
        monkeypatch.setattr(tls, "cert_loc", apns.ca_file)
        monkeypatch.setattr(tls, "_context", None)
    return apns.environment


def _module(name):
    """A module of a library; None if the library is not installed, or does not work with this Python."""
    try:
        if importlib.util.find_spec(name.partition(".")[0]) is None:
            return None
        return importlib.import_module(name)
    except Exception:  # An old library may fail in any way while it is imported.
        return None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    team = getattr(item, "funcargs", {}).get("apns")
    if call.when != "call" or not report.failed or not isinstance(team, Team):
        return
    report.sections.append(("What the backend sent to apns", "\n".join(team.sent())))
