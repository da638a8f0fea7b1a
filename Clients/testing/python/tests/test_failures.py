"""What a developer sees if something is wrong. Each is one sentence that says what to do, and nothing hangs."""

import http.server
import os
import select
import signal
import socket
import ssl
import stat
import subprocess
import sys
import textwrap
import threading
import urllib.request

import httpx
import pytest
from carillon_testing import Carillon, CarillonError, WaitTimeout, words
from carillon_testing.team import _WITHOUT_TEAM
from test_httpx import notify


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Lets CARILLON name a program with this content. A script says that it is this version of Carillon."""
    monkeypatch.delenv("CARILLON_MANAGEMENT_URL", raising=False)

    def make(content, version="0.2.0"):
        if isinstance(content, str):
            asked = f"case $1 in --version) echo {version}; exit;; esac" if version else ""
            content = f"#!/bin/sh\n{asked}\n{content}\n".encode()
        path = tmp_path / "carillon"
        path.write_bytes(content)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("CARILLON", str(path))

    return make


@pytest.fixture
def started(monkeypatch):
    """A service of the test's own."""
    monkeypatch.delenv("CARILLON_MANAGEMENT_URL", raising=False)
    with Carillon.start() as carillon:
        yield carillon


def test_a_wait_shows_what_came_instead(apns, apns_environment):
    notify("00fc13adff785122", {"aps": {"alert": "Hello"}})
    with pytest.raises(WaitTimeout) as failure:
        apns.wait(timeout=0.1, outcome="delivered", push_type="voip", payload={"aps": {"alert": "Bye"}})
    text = str(failure.value)
    assert "0 requests matched" in text and "within 0.1 s, instead of 1." in text
    assert "400 BadDeviceToken" in text
    assert 'outcome is "rejected", not "delivered"' in text
    assert 'payload is {"aps": {"alert": "Hello"}}, not {"aps": {"alert": "Bye"}}' in text
    assert 'pushType is "alert", not "voip"' in text
    assert failure.value.matched == 0 and failure.value.nearest[0]["request"]["reason"] == "BadDeviceToken"


def test_a_wait_without_any_request_says_where_to_send(apns):
    with pytest.raises(WaitTimeout, match="The backend has sent nothing: it has to connect to https://"):
        apns.wait(timeout=0)


def test_a_wait_for_a_message_of_web_push_says_where_to_send(apns):
    subscription, newest = apns.web_push(), apns.web_push()
    for match, endpoint in (
            ({}, newest.endpoint), ({"text": "Hello"}, newest.endpoint), ({"subscription": subscription.name}, subscription.endpoint)):
        with pytest.raises(WaitTimeout) as failure:
            apns.wait(timeout=0, **match)
        assert f"has sent nothing: it has to send to {endpoint}, and trust" in str(failure.value)
    # It may be about the phone.
    apns.device()
    with pytest.raises(WaitTimeout, match="has sent nothing: it has to connect to https://"):
        apns.wait(timeout=0)


def connection_failed(carillon, count=1):
    """Waits until connections of the test's service have failed. The team of the test sees no failed connection."""
    body = {"match": {"outcome": "failed"}, "count": count, "timeout": "PT60S"}
    carillon.management.ask("POST", "/v1/requests/wait", body, wait=60)


def test_a_backend_that_does_not_trust_the_authority(started):
    with started.team() as apns, httpx.Client(http2=True) as client:
        with pytest.raises(httpx.ConnectError):
            client.post(apns.url + "/3/device/00")
        connection_failed(started)
        with pytest.raises(WaitTimeout, match=(
                r"^The backend does not trust the service \(a connection since this test began, perhaps another test's: its alert is "
                r"unknown_ca\): let it trust the authority in apns.ca_file, apns.ca_pem or apns.ssl_context, and connect to 127.0.0.1.\n0 requests matched within 0 s, instead of 1.$")):
            apns.wait(timeout=0)
        (line,) = apns.sent()
        assert line.startswith("#1, a connection of 127.0.0.1:")
        assert line.endswith(" failed: the client sent the alert unknown_ca")
    # It is not the connection of a test that begins later.
    with started.team() as later, pytest.raises(WaitTimeout, match="The backend has sent nothing"):
        later.wait(timeout=0)


def test_a_backend_that_does_not_speak_http_2(started):
    context = ssl.create_default_context(cadata=started.ca_pem)
    with started.team() as apns:
        context.set_alpn_protocols(["http/1.1"])
        with pytest.raises(OSError):
            urllib.request.urlopen(apns.url + "/3/device/00", b"{}", context=context)
        connection_failed(started)
        with pytest.raises(WaitTimeout, match=r"^The backend does not speak HTTP/2 \(a connection .*: it offered only http/1.1\): APNs"):
            apns.wait(timeout=0)
    context = ssl.create_default_context(cadata=started.ca_pem)
    with started.team() as apns:
        with socket.create_connection((apns.host, apns.port)) as plain, context.wrap_socket(plain, server_hostname=apns.host) as tls:
            tls.sendall(b"POST /3/device/00 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
            connection_failed(started, 2)
        with pytest.raises(WaitTimeout, match=r"^The backend does not speak HTTP/2 \(a connection .*: it sent a request of HTTP/1\)"):
            apns.wait(timeout=0)


def test_a_journal_that_was_too_small(apns):
    answer = {"matched": 0, "nearest": [], "failed": [], "dropped": 5}
    assert "has dropped requests since this test began" in words.explanation({}, 1, 1, answer, apns, 4)
    assert "has sent nothing" in words.explanation({}, 1, 1, answer, apns, 5)


@pytest.mark.apns(options=["--journal", "0"])
def test_a_journal_that_is_off(apns):
    for ask in (apns.wait, lambda: apns.wait(0, timeout=0), apns.requests):
        with pytest.raises(CarillonError, match="ournal .*is off, so nobody knows what was sent: start .* with --journal 10000"):
            ask()
    assert "is off, so nobody knows" in apns.sent()[0]


def test_a_wait_for_nothing_shows_what_came(apns, apns_environment):
    apns.wait(0, timeout=0)
    notify(apns.device().token, {})
    with pytest.raises(WaitTimeout, match="1 requests matched within 0 s, but none should"):
        apns.wait(0, timeout=0)


def test_a_refusal_says_why(apns):
    with pytest.raises(CarillonError, match=r"POST /v1/requests/wait, 400, at /match/colour"):
        apns.wait(colour="red")


def test_a_missing_program(monkeypatch):
    monkeypatch.delenv("CARILLON_MANAGEMENT_URL", raising=False)
    monkeypatch.setenv("CARILLON", "/nowhere/carillon")
    with pytest.raises(CarillonError, match="CARILLON names /nowhere/carillon, which is not a program"):
        Carillon.start()


def test_a_program_for_another_machine(program):
    program(b"\x7fELF\x02\x01\x01" + bytes(200))
    with pytest.raises(CarillonError, match="cannot be started on this machine .*Install the wheel for this machine"):
        Carillon.start()


def test_a_program_that_ends_at_once(program):
    program("echo 'Error: the disk is full' >&2; exit 3")
    with pytest.raises(CarillonError, match=r"did not start: it ended \(exit status 3\). It said:\n  Error: the disk is full"):
        Carillon.start()


def test_a_program_that_is_never_ready(program):
    program("exec cat")
    with pytest.raises(CarillonError, match="was not ready within 0.2 s; if it is slow, give it a longer start_timeout"):
        Carillon.start(start_timeout=0.2)


def test_a_program_that_closes_its_output(program):
    program("exec cat >/dev/null")
    with pytest.raises(CarillonError, match=r"did not start: it ended \(exit status 0\)"):
        Carillon.start()


def test_a_program_that_is_something_else(program):
    program("echo Hello", version=None)
    with pytest.raises(CarillonError, match=r"is not Carillon's program, and printed 'Hello\\n': correct the variable CARILLON"):
        Carillon.start()


def test_a_program_that_says_nothing(monkeypatch):
    monkeypatch.delenv("CARILLON_MANAGEMENT_URL", raising=False)
    monkeypatch.setenv("CARILLON", "/bin/false")
    with pytest.raises(CarillonError, match=r"^/bin/false is not Carillon's program, and ended \(exit status 1\): correct the"):
        Carillon.start()


@pytest.mark.parametrize("said, text", [
    ("/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by $0)", "glibc 2.34 or newer: take a newer system"),
    ("error while loading shared libraries: libpq.so.5: cannot open shared object file: No such file",
     "the library libpq.so.5: install it, or take the program of a release's archive")])
def test_a_system_that_lacks_what_the_program_needs(program, said, text):
    program(f'echo "$0: {said.replace("`", chr(92) + "`")}" >&2; exit 127', version=None)
    with pytest.raises(CarillonError, match=f"carillon cannot be started, because this system lacks {text}"):
        Carillon.start()


@pytest.mark.parametrize("content", ["exec yes", "tr '\\0' x </dev/zero", "sleep 100 & sleep 100"])
def test_a_program_that_prints_for_ever_or_leaves_a_child(program, content):
    program(content, version=None)
    with pytest.raises(CarillonError, match="is not Carillon's program, and (printed|was not ready within 0.2 s)"):
        Carillon.start(start_timeout=0.2)


class Answering(http.server.BaseHTTPRequestHandler):
    """A service that is none of Carillon's."""

    def do_POST(self):
        status, body = self.server.answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("answer", [
    (200, b"{}"), (200, b"[]"), (200, b""), (200, b'{"service":{}}'), (404, b'{"error":"no"}'), (404, b"null"), (404, b"<html>")])
def test_something_else_in_place_of_the_management_api(answer):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        server.answer = answer
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        with pytest.raises(CarillonError, match=r"^http://127.0.0.1:\d+ is not Carillon's management API \(POST /v1/fixtures got "
                                                rf"{answer[0]}\): check CARILLON_MANAGEMENT_URL.$"):
            Carillon.attach(f"http://127.0.0.1:{server.server_port}", "key")
        server.answer = 200, b'{"service":{"caPEM":"PEM"}}'
        with pytest.raises(CarillonError, match=r"^The Carillon at http://127.0.0.1:\d+ is older than this package: start Carillon 0"):
            Carillon.attach(f"http://127.0.0.1:{server.server_port}", "key")
        server.shutdown()
        thread.join()


def test_the_port_of_providers_in_place_of_the_management_api(started):
    with pytest.raises(CarillonError, match="check that CARILLON_MANAGEMENT_URL has the port of the management API; if its log"):
        Carillon.attach(f"http://{started.host}:{started.port}", started.management.key)


def test_a_key_with_something_around_it(started, monkeypatch):
    monkeypatch.setenv("CARILLON_MANAGEMENT_KEY", started.management.key + "\r\n")
    Carillon.attach(started.management.url + "\n").close()
    for key in ("my key", "Schlüssel→"):
        with pytest.raises(CarillonError, match="^CARILLON_MANAGEMENT_KEY has a character that no key has") as failure:
            Carillon.attach(started.management.url, key)
        assert key not in str(failure.value)


def test_an_older_carillon(program):
    program("echo 'Error: Unknown option' >&2; exit 64", version="0.1.9")
    with pytest.raises(CarillonError, match="is Carillon 0.1.9, and this package needs 0.2.0 or newer: correct the variable"):
        Carillon.start()


def test_a_port_in_use(started):
    with pytest.raises(CarillonError, match=r"did not start: it ended \(exit status 1\). It said:\n"):
        Carillon.start(options=["--management", started.management.url[len("http://"):]])


def test_a_service_that_ends_during_a_test(started):
    with started.team() as apns:
        started._program._process.kill()
        with pytest.raises(CarillonError, match=r"has ended \(signal 9\): run the tests again"):
            apns.wait(timeout=600)
        apns.close = lambda: None


def test_a_service_that_is_not_there(monkeypatch):
    monkeypatch.setenv("CARILLON_MANAGEMENT_URL", "http://127.0.0.1:1")
    with pytest.raises(CarillonError, match="The Carillon at http://127.0.0.1:1 does not answer"):
        Carillon.start()


def test_a_wrong_key(started):
    with pytest.raises(CarillonError, match="refuses the key: set CARILLON_MANAGEMENT_KEY to its key"):
        Carillon.attach(started.management.url, "wrong")


def test_an_empty_key(started, monkeypatch):
    monkeypatch.setenv("CARILLON_MANAGEMENT_KEY", "")
    with pytest.raises(CarillonError, match="needs a key, and CARILLON_MANAGEMENT_KEY is empty or not set: set"):
        Carillon.attach(started.management.url)


@pytest.mark.parametrize("url", ["localhost", "http://localhost:99999"])
def test_a_url_that_is_none(url):
    with pytest.raises(CarillonError, match="set it to a URL such as http://localhost:2198"):
        Carillon.attach(url)


def test_variables_name_a_service_that_runs(started, monkeypatch):
    monkeypatch.setenv("CARILLON_MANAGEMENT_URL", started.management.url)
    monkeypatch.setenv("CARILLON_MANAGEMENT_KEY", started.management.key)
    monkeypatch.setenv("CARILLON_PROVIDER_ADDRESS", "localhost:49153")
    monkeypatch.setenv("CARILLON", "/nowhere/carillon")
    with Carillon.start() as attached:
        assert attached.url == "https://localhost:49153"
        assert attached.ca_pem == started.ca_pem
        with attached.team() as apns:
            assert apns.requests() == []
    # It was not started here, so it does not end here.
    with started.team():
        pass


def test_the_service_ends_with_a_process_that_is_killed(tmp_path):
    script = """
        import os, signal
        os.environ.pop("CARILLON_MANAGEMENT_URL", None)
        from carillon_testing import Carillon
        print(Carillon.start()._program._process.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, timeout=120, cwd=tmp_path)
    assert run.returncode == -signal.SIGKILL
    ended(int(run.stdout))


def ended(pid):
    """Waits for the end of a process that is no child of this one."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    readable, _, _ = select.select([handle], [], [], 60)
    os.close(handle)
    assert readable, "the service still runs"


FORKS = """
    import os, signal, sys
    os.environ.pop("CARILLON_MANAGEMENT_URL", None)
    from carillon_testing import Carillon
    carillon = Carillon.start()
    print(carillon._program._process.pid, flush=True)
    if os.fork() == 0:
        os.read(0, 1)      # The test closes it.
        os._exit(0)
    {end}
"""


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGKILL)", "carillon.close()"])
def test_a_forked_process_does_not_keep_the_service(tmp_path, end):
    script = textwrap.dedent(FORKS).format(end=end)
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path) as run:
        pid = int(run.stdout.readline())
        ended(pid)


def test_a_service_that_does_not_start_is_tried_once(pytester, program, tmp_path):
    program(f"echo start >>{tmp_path}/starts; exit 3")
    pytester.makepyfile("""
        def test_one(apns): pass
        def test_other(apns): pass
    """)
    result = pytester.runpytest_subprocess("-p", "no:xdist")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*did not start: it ended (exit status 3)*"] * 2)
    assert (tmp_path / "starts").read_text() == "start\n"


def test_a_failed_test_shows_what_the_backend_sent(pytester, monkeypatch):
    pytester.makepyfile("""
        import ssl, urllib.request, pytest

        def test_it(apns):
            apns.carillon.management.ask("POST", "/v1/notifications", {
                "token": apns.device().token, "topic": apns.bundle_id, "payload": {"aps": {"alert": "Hello"}}})
            assert False
    """)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*What the backend sent to apns*", "#*200, delivered, topic com.example.test-*Hello*"])


def test_the_faults_without_a_team_are_those_that_the_service_describes_as_about_connections(apns):
    _, document = apns.carillon.management.ask("GET", "/openapi.json")
    faults = document["components"]["schemas"]["RehearsalFault"]["properties"]
    assert {name for name, fault in faults.items() if "about new connections" in fault["description"]} == _WITHOUT_TEAM
