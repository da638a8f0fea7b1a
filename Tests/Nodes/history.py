"""What happened to each notification in a cluster, and a checker that needs nothing else.

A history has, for each mailbox (a device with its app, or a device with a channel), what was sent, what was answered, and what was
delivered on which stream. The streams of a device are numbered in the order in which it opened them: a stream's number is its epoch.
All events have one order, because one process sees them all.

The rules:

lost      A notification that was answered with 200 arrives, unless another one took its place that may have been stored later. One
          that had its answer, or had arrived, before the notification was sent cannot have been stored later: it is older. So is one
          that its provider had given up by then, because its node was stopped, and one that its node had read by then, however long
          its statement is on its way to the database.
turn      What is sent after the answer to everything before it is not refused because of that.
refused   A notification that was answered with a 4xx never arrives.
stale     Nothing arrives on a stream after the device's node has lost the device.
unknown   Nothing arrives that was not sent.
"""

import collections
import itertools


class Sent:
    """One notification, with the moments of its events. A moment is the number of the event in the whole history."""

    def __init__(self, moment):
        self.began = moment
        # When its answer came, and the status. None: there was no answer, and it may be stored at any later time.
        self.ended = self.status = None
        # When its provider gave it up, because its node was stopped. The node must not store it any more.
        self.given_up = None
        # When it was known that its node had read it.
        self.read = None
        self.arrivals = []
        # Whether the app was removed afterwards, which empties its mailbox.
        self.is_removed = False

    def is_older(self, other):
        """Whether it cannot have been stored after the other one, which is newer."""
        has_ended = self.status is not None and self.ended < other.began
        is_given_up = self.given_up is not None and self.given_up < other.began
        is_read = self.read is not None and self.read < other.began
        return has_ended or is_given_up or is_read or bool(self.arrivals) and self.arrivals[0] < other.began


class History:
    # The defects that can be planted, to see that they are found.
    DEFECTS = ["lost", "older", "refused", "stale", "delayed", "turned"]

    def __init__(self, defect=None):
        self.moments = itertools.count()
        self.mailboxes = collections.defaultdict(dict)
        # The streams on which nothing may arrive any more, as pairs of device and epoch.
        self.silenced = set()
        self.found = []
        self.defect = defect
        # The planted defect acts on one notification in the middle, and once.
        self.planted = None

    def sent(self, mailbox, identifier):
        self.mailboxes[mailbox][identifier] = Sent(next(self.moments))

    def answered(self, mailbox, identifier, status):
        """`status` is None if there was no answer. A later answer does not come."""
        one = self.mailboxes[mailbox][identifier]
        one.ended, one.status = next(self.moments), status

    def given_up(self, mailbox, identifier):
        """Its provider waits no longer for its node, which was stopped for so long that it has to notice this."""
        self.mailboxes[mailbox][identifier].given_up = next(self.moments)

    def read(self, mailbox, identifier):
        """Its node has read it, and may not store it any more in place of what another node has stored since."""
        self.mailboxes[mailbox][identifier].read = next(self.moments)

    def turn(self, mailbox, identifier, status):
        """Nothing else was on its way to the mailbox while this one was sent and answered."""
        if self.defect == "turned" and not self.planted and len(self.mailboxes[mailbox]) > 3:
            self.planted, status = identifier, 503
        if status != 200:
            self.found.append(f"turn: {identifier} was answered with {status}, though everything before it had its answer ({mailbox})")

    def removed(self, mailbox):
        """The app was removed from the device. What has not arrived need not arrive any more."""
        for one in self.mailboxes[mailbox].values():
            one.is_removed = True

    def settled(self, mailbox, identifier):
        """The sender has waited until this one, or another in its place, has arrived."""
        self.found += self.lost(mailbox, identifier)

    def silence(self, device, epoch):
        """From now on the device must not get anything on this stream, because another node has it."""
        self.silenced.add((device, epoch))

    def arrived(self, mailbox, identifier, device, epoch):
        moment = next(self.moments)
        identifier, epoch = self.plant(mailbox, identifier, device, epoch)
        if identifier is None:
            return
        if (device, epoch) in self.silenced:
            self.found.append(f"stale: {identifier} arrived on stream {epoch} of {device}, which another node had taken")
        one = self.mailboxes[mailbox].get(identifier)
        if one is None:
            self.found.append(f"unknown: {identifier} arrived at {device}, and was not sent")
        else:
            one.arrivals.append(moment)

    def plant(self, mailbox, identifier, device, epoch):
        """Changes an event as the defect would. The others stay as they are."""
        sent = self.mailboxes[mailbox]
        if self.planted == identifier and self.defect in ("lost", "older", "delayed"):
            return None, epoch
        if self.defect in ("delayed", "turned"):
            return self.plant_delay(sent, identifier), epoch
        earlier = [id for id, one in sent.items() if one.arrivals and id != identifier]
        if self.defect is None or self.planted or len(earlier) < 3 or identifier not in sent or sent[identifier].arrivals:
            return identifier, epoch
        self.planted = identifier
        if self.defect == "lost":
            return None, epoch
        if self.defect == "older":
            # It was stored again, late, in place of the newer one.
            return earlier[-1], epoch
        if self.defect == "refused":
            one = sent[identifier]
            one.ended, one.status = one.began, 410
        else:
            self.silence(device, epoch)
        return identifier, epoch

    def plant_delay(self, sent, identifier):
        """A statement was late on its way, and stored what it had in place of the newer one."""
        older = [
            id for id, one in sent.items()
            if one.read is not None and not one.arrivals and identifier in sent and one.read < sent[identifier].began]
        if self.defect == "turned" or self.planted or not older:
            return identifier
        self.planted = identifier
        return older[-1]

    def check(self, is_over=False):
        """Returns what is wrong, each fault as a sentence.

        is_over  whether nothing more can arrive. Before, what has not arrived may be on its way."""
        found = list(self.found)
        for mailbox, sent in self.mailboxes.items():
            arrived = [one for one in sent.values() if one.arrivals]
            for identifier, one in sent.items():
                if one.status is not None and 400 <= one.status < 500 and one.status != 429 and one.arrivals:
                    found.append(f"refused: {identifier} was answered with {one.status}, and arrived ({mailbox})")
                if is_over:
                    found += [fault for fault in self.lost(mailbox, identifier, arrived) if fault not in found]
        return found

    def lost(self, mailbox, identifier, arrived=None):
        """`arrived` has those of the mailbox that have arrived, if they were looked for already."""
        sent = self.mailboxes[mailbox]
        one = sent[identifier]
        if one.status != 200 or one.arrivals or one.is_removed:
            return []
        if self.may_be_replaced(one, sent.values() if arrived is None else arrived):
            return []
        return [f"lost: {identifier} was answered with 200, and nothing newer arrived ({mailbox})"]

    @staticmethod
    def may_be_replaced(one, others):
        """Whether another one arrived afterwards that may have been stored later."""
        return any(
            other is not one and other.arrivals and other.arrivals[-1] > one.began and not other.is_older(one)
            for other in others)

    @property
    def counts(self):
        """How many were sent, answered with 200, and delivered."""
        all_sent = [one for sent in self.mailboxes.values() for one in sent.values()]
        return len(all_sent), sum(one.status == 200 for one in all_sent), sum(bool(one.arrivals) for one in all_sent)
