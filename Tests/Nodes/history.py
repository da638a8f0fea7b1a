"""What happened to each notification in a cluster, and a checker that needs nothing else.

A history has, for each mailbox (a device with its app, a device with a channel, or a queue), what was sent, what was answered, and what was
delivered on which stream. The streams of a device are numbered in the order in which it opened them: a stream's number is its epoch.
All events have one order, because one process sees them all.

A mailbox can be a queue: a subscription of Web Push, or an app of which the device keeps more than the newest notification. It has one
sender, which sends when it has the answer to the message before.

The rules:

lost      A notification that was answered with 200 arrives, unless another one took its place that may have been stored later. In a
          queue nothing takes its place. One
          that had its answer, or had arrived, before the notification was sent cannot have been stored later: it is older. So is one
          that its provider had given up by then, because its node was stopped, and one that its node had read by then, however long
          its statement is on its way to the database.
turn      What is sent after the answer to everything before it is not refused because of that.
refused   A notification that was answered with a 4xx never arrives.
stale     Nothing arrives on a stream after the device's node has lost the device.
unknown   Nothing arrives that was not sent.
order     In a queue, what was accepted arrives in the order in which it was sent: for the first time, because it may come again. Not
          if something went wrong while the earlier one was on its way: the device's node may not have heard of it then, or
          may not be able to read it, and offers the later one, of which it has heard.
gone      The sender of a queue is not answered with a 4xx, for which it would forget the subscription.
"""

import collections
import itertools


def is_refusal(status):
    """Whether the answer says that the request was wrong, and not that it came too soon."""
    return status is not None and 400 <= status < 500 and status != 429


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
    DEFECTS = ["lost", "older", "refused", "stale", "delayed", "turned", "missing", "swapped", "forgotten"]
    # Those of queues.
    QUEUE_DEFECTS = DEFECTS[-3:]
    ACCEPTED = 200, 201

    def __init__(self, defect=None):
        self.moments = itertools.count()
        self.mailboxes = collections.defaultdict(dict)
        self.queues = set()
        # When something went wrong, as pairs of moments. The last one may have no end yet.
        self.disturbances = []
        # The streams on which nothing may arrive any more, as pairs of device and epoch.
        self.silenced = set()
        self.found = []
        self.defect = defect
        # The planted defect acts on one notification in the middle, and once.
        self.planted = None

    def queue(self, mailbox):
        """This mailbox is a queue."""
        self.queues.add(mailbox)

    def disturbed(self):
        """From now on something is wrong."""
        self.disturbances.append([next(self.moments), None])

    def calm(self):
        """Nothing is wrong any more."""
        self.disturbances[-1][1] = next(self.moments)

    def is_disturbed(self, one):
        """Whether something was wrong at some time between its sending and its arrival."""
        return any(began < one.arrivals[0] and (ended is None or ended > one.began) for began, ended in self.disturbances)

    def sent(self, mailbox, identifier):
        self.mailboxes[mailbox][identifier] = Sent(next(self.moments))

    def answered(self, mailbox, identifier, status):
        """`status` is None if there was no answer. A later answer does not come."""
        one = self.mailboxes[mailbox][identifier]
        one.ended, one.status = next(self.moments), status
        if mailbox in self.queues:
            if self.defect == "forgotten" and not self.planted and len(self.mailboxes[mailbox]) > 3:
                self.planted, status = identifier, 404
            if is_refusal(status):
                self.found.append(f"gone: {identifier} was answered with {status}, and its queue is there ({mailbox})")

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
        if (self.defect in self.QUEUE_DEFECTS) != (mailbox in self.queues):
            return identifier, epoch
        if mailbox in self.queues:
            return self.plant_in_queue(sent, identifier), epoch
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

    def plant_in_queue(self, sent, identifier):
        """A message that was accepted before is not there any more when its turn comes, or came before the one that was sent earlier."""
        one = sent.get(identifier)
        arrived = [other for other in sent.values() if other.arrivals and other.status in self.ACCEPTED]
        if self.planted is None and len(arrived) > 2 and one and one.status in self.ACCEPTED and not one.arrivals:
            if self.defect == "missing":
                self.planted = identifier
            elif self.defect == "swapped":
                self.planted, arrived[-1].arrivals = identifier, [next(self.moments)]
        return None if self.defect == "missing" and self.planted == identifier else identifier

    def check(self, is_over=False):
        """Returns what is wrong, each fault as a sentence.

        is_over  whether nothing more can arrive. Before, what has not arrived may be on its way."""
        found = list(self.found)
        for mailbox, sent in self.mailboxes.items():
            arrived = [one for one in sent.values() if one.arrivals]
            for identifier, one in sent.items():
                if is_refusal(one.status) and one.arrivals:
                    found.append(f"refused: {identifier} was answered with {one.status}, and arrived ({mailbox})")
                if is_over:
                    found += [fault for fault in self.lost(mailbox, identifier, arrived) if fault not in found]
            if mailbox in self.queues:
                found += self.disorder(mailbox)
        return found

    def disorder(self, mailbox):
        accepted = [each for each in self.mailboxes[mailbox].items() if each[1].status in self.ACCEPTED and each[1].arrivals]
        return [
            f"order: {earlier} was sent before {later}, both were accepted, and it arrived after it ({mailbox})"
            for (earlier, one), (later, other) in itertools.pairwise(accepted)
            if one.arrivals[0] > other.arrivals[0] and not self.is_disturbed(one)]

    def lost(self, mailbox, identifier, arrived=None):
        """`arrived` has those of the mailbox that have arrived, if they were looked for already."""
        sent = self.mailboxes[mailbox]
        one = sent[identifier]
        if one.status not in self.ACCEPTED or one.arrivals or one.is_removed:
            return []
        if mailbox in self.queues:
            return [f"lost: {identifier} was answered with {one.status}, and did not arrive ({mailbox})"]
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
        """How many were sent, accepted, and delivered."""
        all_sent = [one for sent in self.mailboxes.values() for one in sent.values()]
        return len(all_sent), sum(one.status in self.ACCEPTED for one in all_sent), sum(bool(one.arrivals) for one in all_sent)
