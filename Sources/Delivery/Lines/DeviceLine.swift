import DequeModule
import Notifications
import Rates

/// One device's stream as the courier sees it: what is under way on it and what waits in the mailboxes.
///
/// A line first reads the device's mailboxes and holds back what comes meanwhile, so that the device gets everything
/// in the order of acceptance. What the device is not to be woken for stays in its mailbox, and the line remembers that
/// it is there. A pure state machine: what happened goes in, what is to be done comes out.
struct DeviceLine: ~Copyable {
    private var phase = Phase.reading(Reading(isFirst: true, releases: true))
    private(set) var underWay: [UInt64: UnderWay] = [:]
    /// Offers that came while the mailboxes were being read.
    private var held = Deque<Held>()
    /// The mailbox contents that are known for offers still held.
    private var versionsOfHeld: [OfferID: MailboxVersion] = [:]
    /// The newest mailbox content of each app that was sent or has to do with an offer that was.
    private var versions: [AppID: MailboxVersion] = [:]
    /// Apps whose mailbox holds something that was not sent, and why not.
    private var waiting: [AppID: Waiting] = [:]
    private var power: DevicePower
    /// When what waits for a burst is sent.
    private var burstAt: Uptime?
    private var lastNumber: UInt64
    /// Tells this line from every other of the device: a reading begun for an older line may have missed something.
    private let epoch: UInt64
    private let limit: Int
    private let burstInterval: Duration

    private enum Phase {
        case open
        case reading(Reading)
    }

    /// A reading of the mailboxes that is under way.
    private struct Reading {
        /// Whether the line has just begun: then everything is held back until it has been read.
        var isFirst = false
        /// Whether it sends what waited for a burst.
        var releases: Bool
        /// Whether something was stored that the reading may have missed.
        var isStale = false
        /// The newest mailbox content of each app that it has met.
        var met: [AppID: MailboxVersion] = [:]
    }

    private struct Held {
        let offer: Offer
        /// The app's mailbox content that was known to be older than the offer.
        let after: MailboxVersion?
    }

    private struct Waiting: Equatable {
        var reason: Reason
        var version: MailboxVersion
        /// What the log was told of it.
        var noted: DeliveryStep?

        enum Reason: Equatable {
            /// The stream has no room.
            case room
            /// The mailboxes are being read.
            case reading
            /// The next burst, or something that is sent at once.
            case burst
            /// Anything else that is sent.
            case company
            /// The app has had too many silent notifications.
            case rate(until: Uptime)

            /// What the log is told.
            var step: DeliveryStep? {
                switch self {
                case .room, .reading: nil
                case .burst, .company: .deferred
                case .rate: .throttled
                }
            }
        }

        /// Whether it goes along with the next burst.
        var isDeferred: Bool { reason == .burst || reason == .company }
    }

    struct UnderWay {
        let destination: Destination
        let offer: OfferID?
        let id: NotificationID
        let topic: String
        let sent: Uptime
        var version: MailboxVersion?

        var subject: NotificationSubject {
            NotificationSubject(id: id, address: .destination(destination, generation: 0), topic: topic)
        }

        /// What follows when the device has taken it.
        func acknowledgement(now: Moment) -> [Action] {
            var actions = [Action.note(.acknowledged(after: now.uptime.microseconds(since: sent)), subject)]
            if let offer { actions.append(.acknowledged(offer, destination)) }
            if let version { actions.append(.remove(MailboxReference(destination: destination, version: version))) }
            return actions
        }
    }

    enum Action: Equatable {
        case send(Sending)
        /// Read the mailboxes and hand them to ``DeviceLine/read(_:epoch:now:silents:)``.
        case readMailboxes(epoch: UInt64)
        case remove(MailboxReference)
        case acknowledged(OfferID, Destination)
        case returned(OfferID, Destination)
        /// For the delivery log.
        case note(DeliveryStep, NotificationSubject)
    }

    /// What the line says to an offer.
    struct Offered {
        var answer: OfferAnswer
        var sending: Sending?
        var then: Action?

        static let returned = Offered(answer: .returned)
    }

    /// How many silent notifications each app on each device has had.
    typealias Silents = RateTable<Destination>

    /// Sendings are numbered from the time of the connection, this many a millisecond, so that numbers grow from one
    /// connection to the next, on whichever node; they stay below 2^53, which every JSON reader can hold, for the
    /// next two centuries.
    static let numbersPerMillisecond: UInt64 = 1024

    /// A new line, which has its mailboxes to read: see ``firstAction``.
    /// - Parameters:
    ///   - previous: the last number of an older line of the same device, where it is known.
    ///   - power: what the device has said so far.
    init(now: Timestamp, after previous: UInt64, limits: DeliveryLimits, power: DevicePower = .low) {
        let fromTime = now.milliseconds.multipliedReportingOverflow(by: Self.numbersPerMillisecond)
        epoch = max(previous &+ 1, fromTime.overflow ? 0 : fromTime.partialValue)
        lastNumber = epoch
        limit = limits.unacknowledgedPerDevice
        burstInterval = limits.burstInterval
        self.power = power
    }

    /// What a new line does first.
    var firstAction: Action { .readMailboxes(epoch: epoch) }

    /// The number of the newest sending.
    var newestNumber: UInt64 { lastNumber }
    /// How many sendings have not been acknowledged.
    var underWayCount: Int { underWay.count }

    private var hasRoom: Bool { underWay.count + held.count < limit }

    /// When ``tick(now:)`` has something to do; nil where nothing waits for a time.
    var deadline: Uptime? {
        var first = burstAt
        for case .rate(let until) in waiting.values.lazy.map(\.reason) { first = min(first ?? until, until) }
        return first
    }

    /// Whether it waits for this reading of its mailboxes.
    func isReading(epoch: UInt64) -> Bool {
        if case .reading = phase { epoch == self.epoch } else { false }
    }
}

// MARK: - Offers

extension DeviceLine {
    /// A notification for one of the device's apps.
    mutating func offer(_ offer: Offer, now: Moment, silents: inout Silents) -> Offered {
        let app = offer.destination.app
        guard hasRoom else { return .returned }
        let before = waiting[app]
        if case .reading(var reading) = phase, reading.isFirst || before?.reason == .reading {
            if offer.notification.urgency == .immediate { reading.releases = true }
            phase = .reading(reading)
            return hold(offer, after: before)
        }
        // What waits for its mailbox to be read again must not be overtaken, but may be replaced there.
        if let before, !before.isDeferred { return .returned }
        guard offer.notification.urgency == .immediate || power.takesEverything else {
            return offerWithRegard(offer, now)
        }
        if before != nil {
            // What was held back goes first: it is in the mailbox, and this comes after it.
            let reading = release()
            var offered = hold(offer, after: before)
            offered.then = reading
            return offered
        }
        guard !offer.notification.isSilent || silents.admits(offer.destination, at: now.uptime.nanoseconds) else {
            guard offer.id == nil else { return .returned }
            let subject = NotificationSubject(offer.notification, to: offer.destination)
            return Offered(answer: .returned, then: .note(.throttled, subject))
        }
        let sending = send(offer.destination, offer.notification, offer: offer.id, version: nil, now)
        return Offered(
            answer: .taken, sending: sending, then: offer.notification.urgency == .immediate ? release() : nil)
    }

    /// The device sleeps, and this is no reason to wake it: it goes to the mailbox. What may not be stored has one
    /// attempt, which is now, unless it may not even wake the device.
    private mutating func offerWithRegard(_ offer: Offer, _ now: Moment) -> Offered {
        guard offer.id == nil, offer.notification.urgency == .considerate, !offer.notification.isSilent else {
            return .returned
        }
        return Offered(
            answer: .taken, sending: send(offer.destination, offer.notification, offer: nil, version: nil, now))
    }

    private mutating func hold(_ offer: Offer, after before: Waiting?) -> Offered {
        held.append(Held(offer: offer, after: before?.version))
        return Offered(answer: .taken)
    }

    /// Begins to read the mailboxes for what waits for a burst.
    /// - Returns: nil where nothing does, or the reading is under way.
    private mutating func release() -> Action? {
        if case .open = phase, !waiting.values.contains(where: \.isDeferred) { return nil }
        return readAgain(releases: true)
    }

    /// - Returns: nil where a reading is under way, which then does it.
    private mutating func readAgain(releases: Bool) -> Action? {
        switch phase {
        case .open:
            phase = .reading(Reading(releases: releases))
            // From here on, what was waiting for anything waits for the reading.
            for app in waiting.keys { waiting[app]?.reason = .reading }
            return .readMailboxes(epoch: epoch)
        case .reading(var reading):
            reading.releases = reading.releases || releases
            phase = .reading(reading)
            return nil
        }
    }
}

// MARK: - Mailboxes

extension DeviceLine {
    /// A mailbox of the device has a new content.
    mutating func stored(
        _ stored: StoredMailboxEntry,
        offer: OfferID?,
        now: Moment,
        silents: inout Silents,
    ) -> [Action] {
        let app = stored.entry.destination.app
        if let offer {
            if let number = underWay.first(where: { $0.value.offer == offer })?.key {
                underWay[number]?.version = stored.version
                versions[app] = max(stored.version, versions[app] ?? stored.version)
                return []
            }
            if held.contains(where: { $0.offer.id == offer }) {
                versionsOfHeld[offer] = stored.version
                return []
            }
        }
        guard isNews(stored) else { return [] }
        switch phase {
        case .reading(var reading):
            reading.isStale = true
            phase = .reading(reading)
            waiting[app] = Waiting(reason: .reading, version: stored.version)
            return []
        case .open:
            let before = waiting.removeValue(forKey: app)
            guard before?.reason != .room else {
                waiting[app] = Waiting(reason: .room, version: stored.version)
                return []
            }
            let actions = take(stored, releases: false, before: before, now, &silents)
            guard stored.entry.notification.urgency == .immediate, waiting[app] == nil, let reading = release() else {
                return actions
            }
            return actions + [reading]
        }
    }

    /// The mailboxes have been read.
    mutating func read(
        _ entries: [StoredMailboxEntry],
        epoch: UInt64,
        now: Moment,
        silents: inout Silents,
    ) -> [Action] {
        guard epoch == self.epoch, case .reading(var reading) = phase else { return [] }
        let before = waiting
        waiting.removeAll()
        if reading.releases { burstAt = nil }
        var actions: [Action] = []
        let ofHeld = Set(versionsOfHeld.values)
        for stored in entries where isNews(stored) && !ofHeld.contains(stored.version) {
            let app = stored.entry.destination.app
            reading.met[app] = stored.version
            actions += take(stored, releases: reading.releases, before: before[app], now, &silents)
        }
        if reading.isStale {
            reading.isStale = false
            phase = .reading(reading)
            for app in waiting.keys { waiting[app]?.reason = .reading }
            return actions + [.readMailboxes(epoch: epoch)]
        }
        phase = .open
        actions += sendHeld(after: reading, now, &silents)
        return actions + readForRoom()
    }

    /// Whether a mailbox's content is newer than all of it that this line has sent.
    private func isNews(_ stored: StoredMailboxEntry) -> Bool {
        guard let known = versions[stored.entry.destination.app] else { return true }
        return known < stored.version
    }

    /// Sends what a mailbox holds, or remembers why it waits there.
    private mutating func take(
        _ stored: StoredMailboxEntry,
        releases: Bool,
        before: Waiting?,
        _ now: Moment,
        _ silents: inout Silents,
    ) -> [Action] {
        let (destination, notification) = (stored.entry.destination, stored.entry.notification)
        guard stored.entry.expires > now.time else {
            return [
                .note(.expired, NotificationSubject(notification, to: destination)),
                .remove(MailboxReference(destination: destination, version: stored.version)),
            ]
        }
        let reason: Waiting.Reason
        if !hasRoom {
            reason = .room
        } else if !releases, !power.takesEverything, notification.urgency != .immediate {
            reason = notification.urgency == .low ? .company : .burst
        } else if notification.isSilent, !silents.admits(destination, at: now.uptime.nanoseconds) {
            reason = .rate(until: Uptime(nanoseconds: silents.opens(destination)))
        } else {
            return [.send(send(destination, notification, offer: nil, version: stored.version, now))]
        }
        if reason == .burst { burstAt = burstAt ?? now.uptime.advanced(by: burstInterval) }
        let noted = before?.version == stored.version ? before?.noted : nil
        waiting[destination.app] = Waiting(reason: reason, version: stored.version, noted: reason.step ?? noted)
        // The log is told once.
        guard let step = reason.step, step != noted else { return [] }
        return [.note(step, NotificationSubject(notification, to: destination))]
    }
}

// MARK: - What was held

extension DeviceLine {
    /// Sends what was held. What has expired meanwhile goes back, and to the mailbox; likewise what may have been
    /// replaced there while it was held, or would overtake what waits there.
    private mutating func sendHeld(after reading: Reading, _ now: Moment, _ silents: inout Silents) -> [Action] {
        var actions: [Action] = []
        var passed: Set<AppID> = []
        while let next = held.popFirst() {
            let (app, notification) = (next.offer.destination.app, next.offer.notification)
            let version = next.offer.id.flatMap { versionsOfHeld.removeValue(forKey: $0) }
            guard let id = next.offer.id else {
                actions += tryOnce(next.offer, releases: reading.releases, now, &silents)
                continue
            }
            if notification.expiration.hasPassed(at: now.time) {
                actions.append(.returned(id, next.offer.destination))
                continue
            }
            let isPassed = passed.contains(app) || isPassed(next, version, by: reading)
            let isDeferred = !reading.releases && !power.takesEverything && notification.urgency != .immediate
            if !isPassed, !isDeferred,
                !notification.isSilent || silents.admits(next.offer.destination, at: now.uptime.nanoseconds)
            {
                let sending = send(next.offer.destination, notification, offer: id, version: version, now)
                actions.append(.send(sending))
                continue
            }
            passed.insert(app)
            actions.append(.returned(id, next.offer.destination))
            // It is in the mailbox already, where the next reading finds it.
            if !isPassed, let version { actions += wait(next.offer, version, isDeferred: isDeferred, now, silents) }
        }
        return actions
    }

    /// Whether the mailbox has, or had, something that may be newer, or that an offer would overtake.
    private func isPassed(_ held: Held, _ version: MailboxVersion?, by reading: Reading) -> Bool {
        let app = held.offer.destination.app
        guard let version else {
            guard waiting[app] == nil else { return true }
            guard let met = reading.met[app] else { return false }
            return held.after.map { $0 < met } ?? true
        }
        return reading.met[app].map { version < $0 } ?? false
    }

    private mutating func wait(
        _ offer: Offer,
        _ version: MailboxVersion,
        isDeferred: Bool,
        _ now: Moment,
        _ silents: borrowing Silents,
    ) -> [Action] {
        let reason: Waiting.Reason
        if isDeferred {
            reason = offer.notification.urgency == .low ? .company : .burst
        } else {
            reason = .rate(until: Uptime(nanoseconds: silents.opens(offer.destination)))
        }
        if reason == .burst { burstAt = burstAt ?? now.uptime.advanced(by: burstInterval) }
        waiting[offer.destination.app] = Waiting(reason: reason, version: version, noted: reason.step)
        return reason.step.map { [.note($0, NotificationSubject(offer.notification, to: offer.destination))] } ?? []
    }

    /// The one attempt of what may not be stored.
    private mutating func tryOnce(
        _ offer: Offer,
        releases: Bool,
        _ now: Moment,
        _ silents: inout Silents,
    ) -> [Action] {
        let notification = offer.notification
        let subject = NotificationSubject(notification, to: offer.destination)
        let mayWake = notification.urgency != .low && !notification.isSilent
        guard releases || power.takesEverything || mayWake else { return [.note(.discarded(.oneAttempt), subject)] }
        guard !notification.isSilent || silents.admits(offer.destination, at: now.uptime.nanoseconds) else {
            return [.note(.throttled, subject), .note(.discarded(.oneAttempt), subject)]
        }
        return [.send(send(offer.destination, notification, offer: nil, version: nil, now))]
    }
}

// MARK: - Acknowledgements, times and the end

extension DeviceLine {
    /// The device has taken these sendings; numbers that are not under way, as those of an older stream, mean nothing.
    mutating func acknowledged(_ numbers: [UInt64], now: Moment) -> [Action] {
        var actions: [Action] = []
        for number in numbers {
            guard let sending = underWay.removeValue(forKey: number) else { continue }
            actions += sending.acknowledgement(now: now)
        }
        return actions + readForRoom()
    }

    /// Reads what waits in the mailboxes once half the room is free: a device that acknowledges one at a time does not
    /// cost a reading each.
    private mutating func readForRoom() -> [Action] {
        guard case .open = phase, underWay.count <= limit / 2, waiting.values.contains(where: { $0.reason == .room })
        else { return [] }
        return readAgain(releases: false).map { [$0] } ?? []
    }

    /// The device says how it stands.
    mutating func changed(_ power: DevicePower) -> [Action] {
        self.power = power
        guard power.takesEverything else { return [] }
        return release().map { [$0] } ?? []
    }

    /// Sends what has waited long enough.
    mutating func tick(now: Moment) -> [Action] {
        let isBurst = burstAt.map { $0 <= now.uptime } ?? false
        let isOpen = waiting.values.contains { waiting in
            if case .rate(let until) = waiting.reason { until <= now.uptime } else { false }
        }
        guard isBurst || isOpen else { return [] }
        if isBurst { burstAt = nil }
        return readAgain(releases: isBurst).map { [$0] } ?? []
    }

    /// The stream is gone: what was offered and not acknowledged goes back, in the order in which it came. What the
    /// mailboxes hold stays there, and what was to be tried once is given up.
    mutating func end() -> [Action] {
        var actions: [Action] = []
        for (_, sending) in underWay.sorted(by: { $0.key < $1.key }) {
            if let offer = sending.offer {
                actions.append(.returned(offer, sending.destination))
            } else if sending.version == nil {
                actions.append(.note(.discarded(.oneAttempt), sending.subject))
            }
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
        held.removeAll()
        waiting.removeAll()
        burstAt = nil
        return actions
    }

    private mutating func send(
        _ destination: Destination,
        _ notification: Notification,
        offer: OfferID?,
        version: MailboxVersion?,
        _ now: Moment,
    ) -> Sending {
        lastNumber &+= 1
        underWay[lastNumber] = UnderWay(
            destination: destination, offer: offer, id: notification.id, topic: notification.topic, sent: now.uptime,
            version: version)
        if let version { versions[destination.app] = version }
        return Sending(number: lastNumber, destination: destination, notification: notification)
    }
}

extension Expiration {
    fileprivate func hasPassed(at now: Timestamp) -> Bool {
        if case .at(let seconds) = self { Timestamp(seconds: seconds) <= now } else { false }
    }
}
