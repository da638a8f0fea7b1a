import DequeModule
import Notifications

/// One device's stream as the courier sees it: what is under way on it and what waits in the mailboxes.
///
/// A line first reads the device's mailboxes and holds back what comes meanwhile, so that the device gets everything
/// in the order of acceptance. A pure state machine: what happened goes in, what is to be done comes out.
struct DeviceLine: ~Copyable {
    private var phase = Phase.reading(isStale: false)
    private(set) var underWay: [UInt64: UnderWay] = [:]
    /// Offers that came while the mailboxes were being read.
    private var held = Deque<Offer>()
    /// The mailbox contents that are known for offers still held.
    private var versionsOfHeld: [OfferID: MailboxVersion] = [:]
    /// The newest mailbox content of each app that was sent or has to do with an offer that was.
    private var versions: [AppID: MailboxVersion] = [:]
    /// Apps whose mailbox holds something that found no room on the stream.
    private var waitingApps: Set<AppID> = []
    private var lastNumber: UInt64
    /// Tells this line from every other of the device: a reading begun for an older line may have missed something.
    private let epoch: UInt64
    private let limit: Int

    private enum Phase {
        case open
        /// The mailboxes are being read; `isStale` once something was stored that the reading may have missed.
        case reading(isStale: Bool)
    }

    struct UnderWay {
        let destination: Destination
        let offer: OfferID?
        var version: MailboxVersion?

        /// What follows when the device has taken it.
        var acknowledgement: [Action] {
            var actions: [Action] = []
            if let offer { actions.append(.acknowledged(offer, destination)) }
            if let version { actions.append(.remove(MailboxReference(destination: destination, version: version))) }
            return actions
        }
    }

    enum Action: Equatable {
        case send(Sending)
        /// Read the mailboxes and hand them to ``DeviceLine/read(_:epoch:now:)``.
        case readMailboxes(epoch: UInt64)
        case remove(MailboxReference)
        case acknowledged(OfferID, Destination)
        case returned(OfferID, Destination)
    }

    /// Sendings are numbered from the time of the connection, this many a millisecond, so that numbers grow from one
    /// connection to the next, on whichever node; they stay below 2^53, which every JSON reader can hold, for the
    /// next two centuries.
    static let numbersPerMillisecond: UInt64 = 1024

    /// A new line, which has its mailboxes to read: see ``firstAction``.
    /// - Parameter previous: the last number of an older line of the same device, where it is known.
    init(now: Timestamp, after previous: UInt64, limit: Int) {
        let fromTime = now.milliseconds.multipliedReportingOverflow(by: Self.numbersPerMillisecond)
        epoch = max(previous &+ 1, fromTime.overflow ? 0 : fromTime.partialValue)
        lastNumber = epoch
        self.limit = limit
    }

    /// What a new line does first.
    var firstAction: Action { .readMailboxes(epoch: epoch) }

    /// The number of the newest sending.
    var newestNumber: UInt64 { lastNumber }
    /// How many sendings have not been acknowledged.
    var underWayCount: Int { underWay.count }

    private var hasRoom: Bool { underWay.count + held.count < limit }

    /// A notification for one of the device's apps.
    mutating func offer(_ offer: Offer) -> (answer: OfferAnswer, action: Action?) {
        guard hasRoom, !waitingApps.contains(offer.destination.app) else { return (.returned, nil) }
        switch phase {
        case .open:
            return (.taken, send(offer.destination, offer.notification, offer: offer.id, version: nil))
        case .reading:
            held.append(offer)
            return (.taken, nil)
        }
    }

    /// Whether it waits for this reading of its mailboxes.
    func isReading(epoch: UInt64) -> Bool {
        if case .reading = phase { epoch == self.epoch } else { false }
    }

    /// A mailbox of the device has a new content.
    mutating func stored(_ stored: StoredMailboxEntry, offer: OfferID?, now: Timestamp) -> [Action] {
        let app = stored.entry.destination.app
        if let offer {
            if let number = underWay.first(where: { $0.value.offer == offer })?.key {
                underWay[number]?.version = stored.version
                versions[app] = stored.version
                return []
            }
            if held.contains(where: { $0.id == offer }) {
                versionsOfHeld[offer] = stored.version
                versions[app] = stored.version
                return []
            }
        }
        switch phase {
        case .reading:
            phase = .reading(isStale: true)
            return []
        case .open:
            guard hasRoom, !waitingApps.contains(app) else {
                waitingApps.insert(app)
                return []
            }
            guard versions[app] != stored.version else { return [] }
            guard stored.entry.expires > now else {
                return [.remove(MailboxReference(destination: stored.entry.destination, version: stored.version))]
            }
            return [send(stored.entry.destination, stored.entry.notification, offer: nil, version: stored.version)]
        }
    }

    /// The mailboxes have been read.
    mutating func read(_ entries: [StoredMailboxEntry], epoch: UInt64, now: Timestamp) -> [Action] {
        guard epoch == self.epoch, case .reading(let isStale) = phase else { return [] }
        waitingApps.removeAll()
        var actions: [Action] = []
        for stored in entries where versions[stored.entry.destination.app] != stored.version {
            let destination = stored.entry.destination
            if stored.entry.expires <= now {
                actions.append(.remove(MailboxReference(destination: destination, version: stored.version)))
            } else if hasRoom {
                let notification = stored.entry.notification
                actions.append(send(destination, notification, offer: nil, version: stored.version))
            } else {
                waitingApps.insert(destination.app)
            }
        }
        if isStale {
            phase = .reading(isStale: false)
            return actions + [.readMailboxes(epoch: epoch)]
        }
        phase = .open
        actions += sendHeld(now: now)
        return actions + readAgain()
    }

    /// The device has taken these sendings; numbers that are not under way, as those of an older stream, mean nothing.
    mutating func acknowledged(_ numbers: [UInt64]) -> [Action] {
        var actions: [Action] = []
        for number in numbers {
            guard let sending = underWay.removeValue(forKey: number) else { continue }
            actions += sending.acknowledgement
        }
        return actions + readAgain()
    }

    /// Reads what waits in the mailboxes once half the room is free: a device that acknowledges one at a time does not
    /// cost a reading each.
    private mutating func readAgain() -> [Action] {
        guard !waitingApps.isEmpty, case .open = phase, underWay.count <= limit / 2 else { return [] }
        phase = .reading(isStale: false)
        return [.readMailboxes(epoch: epoch)]
    }

    /// The stream is gone: what was offered and not acknowledged goes back, in the order in which it came. What the
    /// mailboxes hold stays there.
    mutating func end() -> [Action] {
        var actions: [Action] = []
        for (_, sending) in underWay.sorted(by: { $0.key < $1.key }) {
            if let offer = sending.offer { actions.append(.returned(offer, sending.destination)) }
        }
        for offer in held {
            if let id = offer.id { actions.append(.returned(id, offer.destination)) }
        }
        underWay.removeAll()
        held.removeAll()
        return actions
    }

    /// Sends what was held, but for what has expired meanwhile and what would overtake an older notification that waits
    /// in its mailbox for room: these go back, and to the mailbox.
    private mutating func sendHeld(now: Timestamp) -> [Action] {
        var actions: [Action] = []
        while let offer = held.popFirst() {
            let version = offer.id.flatMap { versionsOfHeld.removeValue(forKey: $0) }
            let overtakes = version == nil && waitingApps.contains(offer.destination.app)
            if let id = offer.id, overtakes || offer.notification.expiration.hasPassed(at: now) {
                actions.append(.returned(id, offer.destination))
                continue
            }
            actions.append(send(offer.destination, offer.notification, offer: offer.id, version: version))
        }
        return actions
    }

    private mutating func send(
        _ destination: Destination,
        _ notification: Notification,
        offer: OfferID?,
        version: MailboxVersion?,
    ) -> Action {
        lastNumber &+= 1
        underWay[lastNumber] = UnderWay(destination: destination, offer: offer, version: version)
        if let version { versions[destination.app] = version }
        return .send(Sending(number: lastNumber, destination: destination, notification: notification))
    }
}

extension Expiration {
    fileprivate func hasPassed(at now: Timestamp) -> Bool {
        if case .at(let seconds) = self { Timestamp(seconds: seconds) <= now } else { false }
    }
}
