"""Carillon in a test suite: a push notification service that speaks APNs' protocols.

With pytest, take the fixture `apns`. Elsewhere:

    from carillon_testing import Carillon

    with Carillon.start() as carillon, carillon.team() as apns:
        phone = apns.device()
        ...                                  # your backend sends to phone.token, at apns.url
        apns.wait(outcome="delivered")
"""

from .errors import CarillonError, WaitTimeout
from .exact_json import ExactNumber
from .service import Carillon
from .team import Clock, Device, Rehearsal, Subscription, Team

__all__ = ["Carillon", "CarillonError", "Clock", "Device", "ExactNumber", "Rehearsal", "Subscription", "Team", "WaitTimeout"]
