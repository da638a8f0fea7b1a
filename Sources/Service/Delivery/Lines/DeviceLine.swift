import DequeModule
import Notifications
import Rates

/// One device's stream: the notifications that are under way on it, and those that wait in the mailboxes.
///
/// A line first reads the device's mailboxes, and holds offers back meanwhile, so that the device gets all
/// notifications in the order of acceptance. Notifications that have to wait for the device's power are kept here in
/// their order (``Deferred``), and are also stored. If there is no room, or the app has had too many silent
/// notifications, a notification waits in its mailbox, and the line remembers that. A line is a pure state machine:
/// it takes events and returns actions.
struct DeviceLine: ~Copyable {
    var phase = Phase.reading(Reading(isFirst: true, releases: true))
    var underWay = Numbered<UnderWay>()
    /// Offers that came while the mailboxes were being read.
    var held = Deque<Held>()
    /// Notifications that wait for a reason to wake the device, in order. Empty unless the device's power is low.
    var deferred = Deque<Deferred>()
    /// Whether broadcasts wait for a reason to wake the device.
    var holdsBroadcasts = false
    /// The mailbox versions of held offers that were stored meanwhile.
    var versionsOfHeld: [OfferID: MailboxVersion] = [:]
    /// For each mailbox, the newest version that was sent, or belongs to an offer that was sent.
    var versions: [DeviceMailbox: MailboxVersion] = [:]
    /// Mailboxes that hold a notification that was not sent, with the reason.
    var waiting: [DeviceMailbox: Waiting] = [:]
    /// What the line knows of mailboxes that keep more than one notification; nil until it meets one.
    var kept: KeptNotifications?
    /// Decides when a notification may be sent to the device.
    var policy: SendingPolicy
    var lastNumber: UInt64
    /// Distinguishes this line from all other lines of the device. If a reading was begun for an earlier line, its
    /// result does not count for this one, because that reading may have missed something.
    let epoch: UInt64
    /// The identifiers of the last notifications that were sent. If another notification has one of them, it is a
    /// duplicate.
    var sentIdentifiers = SentIdentifiers()
    let limit: Int
    let deferredLimit: Int
    /// A notification expires by the clock of its app's team.
    let clocks: TeamClocks

    enum Phase {
        case open
        case reading(Reading)
    }

    /// A reading of the mailboxes that is in progress.
    struct Reading {
        /// Whether this is the line's first reading. Everything is held back until it has ended.
        var isFirst = false
        /// Whether the reading sends the notifications that wait for a burst.
        var releases: Bool
        /// Whether a notification was stored meanwhile that the reading may have missed.
        var isStale = false
        /// For each mailbox, the newest version that the reading has found.
        var met: [DeviceMailbox: MailboxVersion] = [:]
        /// Whether a page was read and this reading goes on with the next one.
        var isContinued = false
        /// The mailboxes that keep more and have something that this reading may have missed.
        var stale: Set<DeviceMailbox> = []
        /// What waited before this reading began, if it is continued.
        var before: [DeviceMailbox: Waiting] = [:]
    }

    struct Held {
        let offer: Offer
        /// A mailbox version of the app that is known to be older than this offer.
        let after: MailboxVersion?
    }

    struct Waiting: Equatable {
        var reason: Reason
        var version: MailboxVersion
        /// The step that the delivery log has for this wait already.
        var recorded: DeliveryStep?
        /// What else waits, if the app's mailbox keeps more than one notification.
        var others = Others()

        struct Others: Equatable {
            /// Whether one of them is sent with the next burst.
            var isDeferred = false
            /// When the first of them may be sent that waits for the app's rate.
            var opens: Uptime?
        }

        enum Reason: Equatable {
            /// The stream has no room.
            case room
            /// The mailboxes are being read.
            case reading
            /// The notification must not be sent yet.
            case policy(SendingPolicy.Wait)
        }

        /// Whether the notification is sent with the next burst.
        var isDeferred: Bool { if case .policy(let wait) = reason, wait.isDeferred { true } else { others.isDeferred } }

        /// When the app may have a silent notification again, if this notification waits for the app's rate.
        var opens: Uptime? {
            guard case .policy(.rate(let until)) = reason else { return others.opens }
            return others.opens.map { min($0, until) } ?? until
        }
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

        /// The mailbox content of this attempt; nil if it is not stored.
        var reference: MailboxReference? {
            version.map { MailboxReference(destination: destination, version: $0) }
        }
    }

    /// A reading of the mailboxes that has to begin. Its result goes to ``DeviceLine/read(_:epoch:now:silents:)``.
    struct ReadRequest: Equatable {
        let epoch: UInt64
        /// The version after which the page begins; nil for the first page.
        var after: MailboxVersion?
    }

    enum Action: Equatable {
        case send(DeliveryAttempt)
        case read(ReadRequest)
        case remove(MailboxReference)
        case returned(OfferID, Destination)
        /// Send the broadcasts that were not admitted.
        case releaseBroadcasts
        /// Record a step in the delivery log.
        case record(DeliveryStep, NotificationSubject)

        var isSending: Bool {
            if case .send = self { true } else { false }
        }
    }

    /// The line's answer to an offer.
    struct Offered {
        /// What has to be done after the offer was answered.
        enum Then: Equatable {
            case read(ReadRequest)
            /// Record a step of the offered notification in the delivery log.
            case record(DeliveryStep, NotificationSubject)
        }

        var answer: OfferAnswer
        /// Deferred notifications that have to be sent before the offer. None of these actions returns an offer.
        var first: [Action] = []
        var attempt: DeliveryAttempt?
        var then: Then?
        /// The limit that refused the offer; nil if none did.
        var limitExceeded: Limit?

        static let returned = Offered(answer: .returned)

        static func taken(_ attempt: DeliveryAttempt) -> Offered { Offered(answer: .taken, attempt: attempt) }
    }

    /// What acknowledgements of the device result in.
    struct Acknowledged {
        /// The attempts that were under way: tell the nodes that offered them, and empty their mailboxes.
        var attempts: [UnderWay] = []
        /// Now there is room for what waits in the mailboxes.
        var reading: ReadRequest?
    }

    typealias Silents = SendingPolicy.Silents

    /// How many numbers there are for each millisecond. Numbers begin with the time of the connection, so they grow
    /// from one connection to the next, on any node. For the next two centuries they are below 2^53, which every JSON
    /// parser can hold.
    static let numbersPerMillisecond: UInt64 = 1024

    /// Creates a line, which has to read its mailboxes first; see ``firstReading``.
    /// - Parameters:
    ///   - previous: the last number of an older line of the same device, if it is known.
    ///   - power: the power state that the device has reported so far.
    init(
        now: Timestamp,
        after previous: UInt64,
        limits: DeliveryLimits,
        power: DevicePower,
        clocks: TeamClocks = TeamClocks(),
    ) {
        self.clocks = clocks
        let fromTime = now.milliseconds.multipliedReportingOverflow(by: Self.numbersPerMillisecond)
        epoch = max(previous &+ 1, fromTime.overflow ? 0 : fromTime.partialValue)
        lastNumber = epoch
        limit = limits.unacknowledgedPerDevice
        // This limit makes sure that deferred notifications never block urgent ones for long: they take at most half
        // of the room.
        deferredLimit = min(limits.deferredPerDevice, limit / 2)
        policy = SendingPolicy(power: power, burstInterval: limits.burstInterval)
    }

    /// The reading with which a new line begins.
    var firstReading: ReadRequest { ReadRequest(epoch: epoch) }

    /// Ends the first reading of the mailboxes before it begins, because they are known to be empty.
    mutating func openUnread() { phase = .open }

    /// The number of the newest attempt.
    var newestNumber: UInt64 { lastNumber }
    /// The number of unacknowledged attempts.
    var underWayCount: Int { underWay.count }

    var hasRoom: Bool { underWay.count + held.count + deferred.count < limit }

    /// The time of the team that owns an app.
    func time(_ now: Moment, of mailbox: DeviceMailbox) -> Timestamp { clocks.time(now.time, of: mailbox.app) }

    /// When ``tick(now:silents:)`` has something to do next; nil if nothing waits for a time.
    var deadline: Uptime? {
        var first = policy.burstAt
        // Nearly always nothing waits, and this is asked after each event.
        guard !waiting.isEmpty else { return first }
        for wait in waiting.values { if let opens = wait.opens { first = min(first ?? opens, opens) } }
        return first
    }

    /// Whether the line waits for the reading with this epoch.
    func isReading(epoch: UInt64) -> Bool {
        if case .reading = phase { epoch == self.epoch } else { false }
    }
}

// MARK: - Acknowledgements, timers and the end

extension DeviceLine {
    /// Handles acknowledgements. Numbers that are not under way are ignored, for example those of an earlier stream.
    mutating func acknowledged(_ numbers: [UInt64]) -> Acknowledged {
        defer { assert(checkInvariants()) }
        var acknowledged = Acknowledged()
        for number in numbers {
            guard let attempt = underWay.remove(number) else { continue }
            if let version = attempt.version, version.isKept {
                remember(acknowledged: version, of: attempt.destination.mailbox)
            }
            acknowledged.attempts.append(attempt)
        }
        acknowledged.reading = readForRoom()
        return acknowledged
    }

    /// Gives up these attempts. Their mailbox contents are left to the store, which removes them.
    mutating func givenUp(_ numbers: [UInt64]) -> [Action] {
        defer { assert(checkInvariants()) }
        var actions: [Action] = []
        for number in numbers {
            guard let attempt = underWay.remove(number) else { continue }
            if let offer = attempt.offer {
                actions.append(.returned(offer, attempt.destination))
            } else if attempt.version == nil {
                actions.append(.record(.discarded(.unregistered), attempt.subject))
            }
        }
        if let reading = readForRoom() { actions.append(.read(reading)) }
        return actions
    }

    /// If half of the room is free, reads the notifications that wait in the mailboxes. Waiting for half of the room
    /// avoids one reading for each acknowledgement.
    mutating func readForRoom() -> ReadRequest? {
        // Deferred notifications take room too. If they leave none, reading is useless.
        guard case .open = phase, hasRoom, underWay.count <= limit / 2,
            waiting.values.contains(where: { $0.reason == .room }), underWay.count <= roomForReading
        else { return nil }
        return readAgain(releases: false)
    }

    /// Reads the mailboxes again, because something may have been stored without an announcement to this line.
    mutating func mayHaveMissed() -> [Action] {
        defer { assert(checkInvariants()) }
        guard case .reading(var reading) = phase else { return readAgain(releases: false).map { [.read($0)] } ?? [] }
        reading.isStale = true
        phase = .reading(reading)
        return []
    }

    /// Handles a new power state of the device.
    mutating func changed(_ power: DevicePower, now: Moment, silents: inout Silents) -> [Action] {
        defer { assert(checkInvariants()) }
        policy.power = power
        guard power.takesEverything else { return [] }
        var actions = sendDeferred(now, &silents)
        if let reading = release() { actions.append(.read(reading)) }
        return actions
    }

    /// Sends the notifications whose waiting time has passed.
    mutating func tick(now: Moment, silents: inout Silents) -> [Action] {
        defer { assert(checkInvariants()) }
        let isBurst = policy.burstAt.map { $0 <= now.uptime } ?? false
        let isOpen = waiting.values.contains { $0.opens.map { $0 <= now.uptime } ?? false }
        guard isBurst || isOpen else { return [] }
        var actions: [Action] = []
        if isBurst {
            policy.endBurst()
            actions = sendDeferred(now, &silents)
        }
        let reading = isOpen ? readAgain(releases: isBurst) : release()
        if let reading { actions.append(.read(reading)) }
        return actions
    }

    /// Ends the line. Unacknowledged offers are returned in the order in which they came. Mailbox contents stay. A
    /// notification with a single attempt is given up.
    mutating func end() -> [Action] {
        var actions: [Action] = []
        underWay.forEach { attempt in
            if let offer = attempt.offer {
                actions.append(.returned(offer, attempt.destination))
            } else if attempt.version == nil {
                actions.append(.record(.discarded(.oneAttempt), attempt.subject))
            }
        }
        // If the notification came from a mailbox, it is still there.
        for waiting in deferred {
            if let offer = waiting.offer { actions.append(.returned(offer, waiting.destination)) }
        }
        for offer in held.lazy.map(\.offer) {
            if let id = offer.id {
                actions.append(.returned(id, offer.destination))
            } else {
                let subject = NotificationSubject(offer.notification, to: offer.destination)
                actions.append(.record(.discarded(.oneAttempt), subject))
            }
        }
        underWay.removeAll()
        deferred.removeAll()
        held.removeAll()
        versionsOfHeld.removeAll()
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
    ) -> DeliveryAttempt {
        lastNumber &+= 1
        let attempt = UnderWay(
            destination: destination, offer: offer, id: notification.id, topic: notification.topic, sent: now.uptime,
            version: version)
        underWay.append(attempt, number: lastNumber)
        if let version { sent(version, of: destination.mailbox) }
        let isDuplicate = sentIdentifiers.insert(notification.id, of: destination.app)
        return DeliveryAttempt(
            number: lastNumber, destination: destination, notification: notification, isDuplicate: isDuplicate)
    }
}
