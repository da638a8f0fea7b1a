"""The client of the management API: its connections."""

import http.server
import socket
import threading

import pytest

from carillon_testing import CarillonError
from carillon_testing.management import Management


@pytest.fixture
def server():
    """A server that counts its connections, and closes them after as many answers as `answers` says."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self):
            super().setup()
            self.server.connections += 1
            self.answered = 0

        def do_GET(self):
            if self.path == "/closed" or self.path == "/closed-if-used-again" and self.answered:
                self.close_connection = True
                return
            self.send_response(200)
            self.send_header("Content-Length", "20" if self.path == "/short" else "2")
            self.end_headers()
            self.wfile.write(b"{}")
            self.answered += 1
            self.close_connection = self.path == "/short" or self.answered == self.server.answers

        def finish(self):
            super().finish()
            self.request.close()
            self.server.closed.release()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.connections, server.answers, server.closed = 0, None, threading.Semaphore(0)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def management(server):
    management = Management(f"http://127.0.0.1:{server.server_port}", None)
    yield management
    management.close()


def test_requests_share_a_connection(server, management):
    for _ in range(20):
        assert management.ask("GET", "/") == (200, {})
    assert server.connections == 1


def test_a_connection_that_the_service_closed_is_not_used(server, management):
    server.answers = 2
    for _ in range(3):
        for _ in range(2):
            assert management.ask("GET", "/") == (200, {})
        server.closed.acquire()
    assert server.connections == 3


def test_a_silent_service_costs_little_more_than_the_wait():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        management = Management(f"http://127.0.0.1:{silent.getsockname()[1]}", None, limits=(600, 0.05))
        with pytest.raises(CarillonError, match=r"does not answer \(no answer within 0.15 s\): check that it runs"):
            management.ask("POST", "/v1/requests/wait", {}, wait=0.1)
        # It was silent, so the next request does not wait for ten minutes.
        with pytest.raises(CarillonError, match="no answer within 0.05 s"):
            management.ask("GET", "/")


def test_a_service_that_closes_connections_is_not_asked_again_and_again(server, management):
    server.answers = 0
    with pytest.raises(CarillonError, match="closed the connection before its answer: check that CARILLON_MANAGEMENT_URL has the port of the management API; if its log names a limit"):
        management.ask("GET", "/closed")
    assert server.connections == 1


def test_a_connection_that_is_closed_while_it_is_used_again_is_replaced(server, management):
    assert management.ask("GET", "/") == (200, {})
    server.answers = 1
    # The service closes the connection when the request comes, and so as if it had closed it before.
    assert management.ask("GET", "/closed-if-used-again") == (200, {})
    assert server.connections == 2


def test_a_connection_with_half_an_answer_is_not_used(server, management):
    with pytest.raises(CarillonError):
        management.ask("GET", "/short")
    assert management.ask("GET", "/") == (200, {})
    assert server.connections == 2
