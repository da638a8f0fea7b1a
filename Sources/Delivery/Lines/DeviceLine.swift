import DequeModule
import Notifications
import Rates

/// One device's stream as the courier sees it: what is under way on it and what waits in the mailboxes.
///
/// A line first reads the device's mailboxes and holds back what comes meanwhile, so that the device gets everything
/// in the order of acceptance. What has to wait for the device's power is held in its order (``Deferred``), and is stored
/// meanwhile. What finds no room, and what the app has had too many of, waits in its mailbox, and the line remembers that
/// it is there. A pure state machine: what happened goes in, what is to be done comes out.
struct DeviceLine: ~Copyable {
    var phase = Phase.reading(Reading(isFirst: true, releases: true))
    var underWay = Numbered<UnderWay>()
    /// Offers that came while the mailboxes were being read.
    var held = Deque<Held>()
    /// What waits for a reason to wake the device, in the order in which it came. Empty unless its power is low.
    var deferred = Deque<Deferred>()
    /// The mailbox contents that are known for offers still held.
    var versionsOfHeld: [OfferID: MailboxVersion] = [:]
    /// The newest mailbox content of each app that was sent or has to do with an offer that was.
    var versions: [AppID: MailboxVersion] = [:]
    /// Apps whose mailbox holds something that was not sent, and why not.
    var waiting: [AppID: Waiting] = [:]
    /// When the device may be sent what.
    var policy: SendingPolicy
    var lastNumber: UInt64
    /// Tells this line from every other of the device: a reading begun for an older line may have missed something.
    let epoch: UInt64
    /// What was sent last: what has an identifier of these is a duplicate.
    var recent = RecentIdentifiers()
    let limit: Int
    let deferredLimit: Int

    enum Phase {
        case open
        case reading(Reading)
    }

    /// A reading of the mailboxes that is under way.
    struct Reading {
        /// Whether the line has just begun: then everything is held back until it has been read.
        var isFirst = false
        /// Whether it sends what waited for a burst.
        var releases: Bool
        /// Whether something was stored that the reading may have missed.
        var isStale = false
        /// The newest mailbox content of each app that it has met.
        var met: [AppID: MailboxVersion] = [:]
    }

    struct Held {
        let offer: Offer
        /// The app's mailbox content that was known to be older than the offer.
        let after: MailboxVersion?
    }

    struct Waiting: Equatable {
        var reason: Reason
        var version: MailboxVersion
        /// What the log was told of it.
        var noted: DeliveryStep?

        enum Reason: Equatable {
            /// The stream has no room.
            case room
            /// The mailboxes are being read.
            case reading
            /// It may not be sent yet.
            case policy(SendingPolicy.Wait)
        }

        /// Whether it goes along with the next burst.
        var isDeferred: Bool { if case .policy(let wait) = reason { wait.isDeferred } else { false } }

        /// When the app may have a silent notification again, if it waits for that.
        var opens: Uptime? { if case .policy(.rate(let until)) = reason { until } else { nil } }
    }

    struct UnderWay: Equatable {
        let destination: Destination
        let offer: OfferID?
        let id: NotificationID
        let topic: String
        let sent: Uptime
        var version: MailboxVersion?

        var subject: NotificationSubject {
            NotificationSubject(id: id, address: .destination(destination, generation: 0), topic: topic)
        }

        /// What it is in the mailbox, where it is there.
        var reference: MailboxReference? {
            version.map { MailboxReference(destination: destination, version: $0) }
        }
    }

    enum Action: Equatable {
        case send(Sending)
        /// Read the mailboxes and hand them to ``DeviceLine/read(_:epoch:now:silents:)``.
        case readMailboxes(epoch: UInt64)
        case remove(MailboxReference)
        /// The device has taken it: whoever offered it hears of it, and its mailbox is emptied.
        case acknowledged(UnderWay)
        case returned(OfferID, Destination)
        /// For the delivery log.
        case note(DeliveryStep, NotificationSubject)

        var isSending: Bool {
            if case .send = self { true } else { false }
        }
    }

    /// What the line says to an offer.
    struct Offered {
        var answer: OfferAnswer
        /// What has waited for a reason to wake the device goes before it. Nothing here goes back to who offered it.
        var first: [Action] = []
        var sending: Sending?
        var then: Action?
        /// The bound that turned it away.
        var struck: Limit?

        static let returned = Offered(answer: .returned)

        static func taken(_ sending: Sending, then: Action? = nil) -> Offered {
            Offered(answer: .taken, sending: sending, then: then)
        }
    }

    typealias Silents = SendingPolicy.Silents

    /// Sendings are numbered from the time of the connection, this many a millisecond, so that numbers grow from one
    /// connection to the next, on whichever node; they stay below 2^53, which every JSON reader can hold, for the
    /// next two centuries.
    static let numbersPerMillisecond: UInt64 = 1024

    /// A new line, which has its mailboxes to read: see ``firstAction``.
    /// - Parameters:
    ///   - previous: the last number of an older line of the same device, where it is known.
    ///   - power: what the device has said so far.
    init(now: Timestamp, after previous: UInt64, limits: DeliveryLimits, power: DevicePower) {
        let fromTime = now.milliseconds.multipliedReportingOverflow(by: Self.numbersPerMillisecond)
        epoch = max(previous &+ 1, fromTime.overflow ? 0 : fromTime.partialValue)
        lastNumber = epoch
        limit = limits.unacknowledgedPerDevice
        // So that what is deferred never takes the room of what is urgent for good: once half of it is free, there is room.
        deferredLimit = min(limits.deferredPerDevice, limit / 2)
        policy = SendingPolicy(power: power, burstInterval: limits.burstInterval)
    }

    /// What a new line does first.
    var firstAction: Action { .readMailboxes(epoch: epoch) }

    /// The number of the newest sending.
    var newestNumber: UInt64 { lastNumber }
    /// How many sendings have not been acknowledged.
    var underWayCount: Int { underWay.count }

    var hasRoom: Bool { underWay.count + held.count + deferred.count < limit }

    /// When ``tick(now:silents:)`` has something to do; nil where nothing waits for a time.
    var deadline: Uptime? {
        var first = policy.burstAt
        for opens in waiting.values.lazy.compactMap(\.opens) { first = min(first ?? opens, opens) }
        return first
    }

    /// Whether it waits for this reading of its mailboxes.
    func isReading(epoch: UInt64) -> Bool {
        if case .reading = phase { epoch == self.epoch } else { false }
    }
}

// MARK: - Acknowledgements, times and the end

extension DeviceLine {
    /// The device has taken these sendings; numbers that are not under way, as those of an older stream, mean nothing.
    mutating func acknowledged(_ numbers: [UInt64]) -> [Action] {
        var actions: [Action] = []
        for number in numbers {
            if let sending = underWay.remove(number) { actions.append(.acknowledged(sending)) }
        }
        if let reading = readForRoom() { actions.append(reading) }
        return actions
    }

    /// These are not sent after all. What a mailbox holds stays there, for the store to remove.
    mutating func givenUp(_ numbers: [UInt64]) -> [Action] {
        var actions: [Action] = []
        for number in numbers {
            guard let sending = underWay.remove(number) else { continue }
            if let offer = sending.offer {
                actions.append(.returned(offer, sending.destination))
            } else if sending.version == nil {
                actions.append(.note(.discarded(.unregistered), sending.subject))
            }
        }
        if let reading = readForRoom() { actions.append(reading) }
        return actions
    }

    /// Reads what waits in the mailboxes once half the room is free: a device that acknowledges one at a time does not
    /// cost a reading each.
    mutating func readForRoom() -> Action? {
        // What is deferred takes room as well: without any there is nothing to read for.
        guard case .open = phase, hasRoom, underWay.count <= limit / 2,
            waiting.values.contains(where: { $0.reason == .room })
        else { return nil }
        return readAgain(releases: false)
    }

    /// Something may have been stored of which nobody told this line: it reads the mailboxes again.
    mutating func mayHaveMissed() -> [Action] {
        guard case .reading(var reading) = phase else { return readAgain(releases: false).map { [$0] } ?? [] }
        reading.isStale = true
        phase = .reading(reading)
        return []
    }

    /// The device says how it stands.
    mutating func changed(_ power: DevicePower, now: Moment, silents: inout Silents) -> [Action] {
        policy.power = power
        guard power.takesEverything else { return [] }
        var actions = sendDeferred(now, &silents)
        if let reading = release() { actions.append(reading) }
        return actions
    }

    /// Sends what has waited long enough.
    mutating func tick(now: Moment, silents: inout Silents) -> [Action] {
        let isBurst = policy.burstAt.map { $0 <= now.uptime } ?? false
        let isOpen = waiting.values.contains { $0.opens.map { $0 <= now.uptime } ?? false }
        guard isBurst || isOpen else { return [] }
        var actions: [Action] = []
        if isBurst {
            policy.endBurst()
            actions = sendDeferred(now, &silents)
        }
        let reading = isOpen ? readAgain(releases: isBurst) : release()
        if let reading { actions.append(reading) }
        return actions
    }

    /// The stream is gone: what was offered and not acknowledged goes back, in the order in which it came. What the
    /// mailboxes hold stays there, and what was to be tried once is given up.
    mutating func end() -> [Action] {
        var actions: [Action] = []
        underWay.forEach { sending in
            if let offer = sending.offer {
                actions.append(.returned(offer, sending.destination))
            } else if sending.version == nil {
                actions.append(.note(.discarded(.oneAttempt), sending.subject))
            }
        }
        // What came from a mailbox is there still.
        for waiting in deferred {
            if let offer = waiting.offer { actions.append(.returned(offer, waiting.destination)) }
        }
        for offer in held.lazy.map(\.offer) {
            if let id = offer.id {
                actions.append(.returned(id, offer.destination))
            } else {
                let subject = NotificationSubject(offer.notification, to: offer.destination)
                actions.append(.note(.discarded(.oneAttempt), subject))
            }
        }
        underWay.removeAll()
        deferred.removeAll()
        held.removeAll()
        waiting.removeAll()
        policy.endBurst()
        return actions
    }

    mutating func send(
        _ destination: Destination,
        _ notification: Notification,
        offer: OfferID?,
        version: MailboxVersion?,
        _ now: Moment,
    ) -> Sending {
        lastNumber &+= 1
        let sending = UnderWay(
            destination: destination, offer: offer, id: notification.id, topic: notification.topic, sent: now.uptime,
            version: version)
        underWay.append(sending, number: lastNumber)
        if let version { versions[destination.app] = version }
        let isDuplicate = recent.note(notification.id, of: destination.app)
        return Sending(
            number: lastNumber, destination: destination, notification: notification, isDuplicate: isDuplicate)
    }
}
