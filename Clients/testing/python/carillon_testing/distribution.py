"""With pytest-xdist, all workers use one service, which the process that distributes the tests starts for the first that asks."""

import secrets
import threading
from multiprocessing.connection import Client, Listener

import pytest

from .errors import CarillonError


class Distribution:
    """Tells the workers where the service is. It is started if a worker asks.

    start: starts the service, and returns its management API.
    """

    def __init__(self, start):
        self._start = start
        self._listener = None
        self._is_over = threading.Event()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node):
        if self._listener is None:
            # A worker has to know the key, so no other user of the machine gets the service's.
            self._key = secrets.token_bytes(32)
            self._listener = Listener(("127.0.0.1", 0), backlog=128, authkey=self._key)
            threading.Thread(target=self._serve, name="carillon", daemon=True).start()
        node.workerinput["carillon"] = {"port": self._listener.address[1], "key": self._key.hex()}

    def pytest_unconfigure(self):
        self._is_over.set()
        if self._listener is not None:
            self._listener.close()

    def _serve(self):
        while True:
            try:
                connection = self._listener.accept()
            except Exception:
                # The run is over; or it was no worker, or the worker has ended. Do not spin if no file can be opened.
                if self._is_over.wait(0.01):
                    return
                continue
            with connection:
                answer = self._answer()
                try:
                    connection.send(answer)
                except OSError:
                    pass  # The worker has ended.

    def _answer(self):
        """What a worker is told. A worker waits for it without a limit, so no error may end this thread."""
        try:
            management = self._start()
            return {"url": management.url, "key": management.key}
        except CarillonError as error:
            return {"error": str(error)}
        except BaseException as error:  # pytest.fail and sys.exit raise no Exception.
            return {"error": f"The service did not start ({type(error).__name__}: {error}): look for the error in conftest.py, in a "
                             "plugin or in this package."}


def from_controller(place):
    """Asks the process that distributes the tests for the service, and returns its URL and key."""
    with Client(("127.0.0.1", place["port"]), authkey=bytes.fromhex(place["key"])) as connection:
        answer = connection.recv()
    if "error" in answer:
        raise CarillonError(answer["error"])
    return answer["url"], answer["key"]
