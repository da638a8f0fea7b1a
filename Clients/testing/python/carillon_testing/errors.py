"""What goes wrong. The text of each error is one sentence that says what to do."""


class CarillonError(Exception):
    """The service did not start, ended, or refused a request."""

    def __init__(self, text, status=None):
        super().__init__(text)
        #: The HTTP status, if the service refused a request.
        self.status = status


class WaitTimeout(AssertionError):
    """The expected requests did not arrive in time. The text shows the requests that differ least."""

    def __init__(self, text, answer):
        super().__init__(text)
        #: How many requests matched.
        self.matched = answer.get("matched", 0)
        #: The requests that differ least, each with the keys in which it differs.
        self.nearest = answer.get("nearest", [])
