@testable import Delivery
import Notifications
import Rates

/// Runs a ``DeviceLine``, and returns its actions as numbers: attempts have their position on the line, counted from
/// 1.
struct LineRig: ~Copyable {
    enum Step: Hashable {
        case send(UInt64, notification: UInt64)
        case read
        case readPage(after: UInt64)
        case remove(app: UInt32, version: UInt64)
        case acknowledged(UInt64)
        case returned(UInt64)
        case releaseBroadcasts
        /// A reading that was begun for another line.
        case otherRead
    }

    var line: DeviceLine
    var now = Example.moment
    var silents: DeviceLine.Silents
    let epoch: UInt64

    init(limit: Int = 100, power: DevicePower = .low, deferred: Int = 100) {
        var limits = DeliveryLimits(unacknowledgedPerDevice: limit)
        limits.deferredPerDevice = deferred
        line = DeviceLine(now: now, after: 0, limits: limits, power: power)
        silents = DeviceLine.Silents(limits.silentsPerApp)
        epoch = line.newestNumber
    }

    /// A line that has read its mailboxes.
    static func open(
        limit: Int = 100,
        power: DevicePower = .low,
        deferred: Int = 100,
        _ entries: [StoredMailboxEntry] = [],
    ) -> LineRig {
        var rig = LineRig(limit: limit, power: power, deferred: deferred)
        _ = rig.read(entries)
        return rig
    }

    mutating func offer(_ offer: Offer) -> (answer: OfferAnswer, step: Step?) {
        let offered = line.offer(offer, now: Example.now(now), silents: &silents)
        let action = offered.attempt.map(DeviceLine.Action.send) ?? Self.action(offered.then)
        return (offered.answer, action.flatMap { step($0) })
    }

    /// Returns the line's actions after an offer.
    mutating func offerAndThen(_ offer: Offer) -> [Step] {
        let offered = line.offer(offer, now: Example.now(now), silents: &silents)
        let last = [offered.attempt.map(DeviceLine.Action.send), Self.action(offered.then)].compactMap(\.self)
        return (offered.first + last).compactMap { step($0) }
    }

    private static func action(_ then: DeviceLine.Offered.Then?) -> DeviceLine.Action? {
        switch then {
        case .read(let request): .read(request)
        case .record(let step, let subject): .record(step, subject)
        case nil: nil
        }
    }

    mutating func offer(_ number: UInt64, app: UInt32 = 1) -> (answer: OfferAnswer, step: Step?) {
        offer(Example.offer(number, app: app))
    }

    mutating func stored(_ entry: StoredMailboxEntry, offer: UInt64? = nil) -> [Step] {
        stored(entry, offer: offer.map { OfferID($0) })
    }

    mutating func stored(_ entry: StoredMailboxEntry, offer: OfferID?) -> [Step] {
        let actions = line.stored(entry, offer: offer, now: Example.now(now), silents: &silents)
        return actions.compactMap { step($0) }
    }

    mutating func read(_ entries: [StoredMailboxEntry], epoch: UInt64? = nil) -> [Step] {
        let actions = line.read(entries, epoch: epoch ?? self.epoch, now: Example.now(now), silents: &silents)
        return actions.compactMap { step($0) }
    }

    mutating func read(_ page: MailboxPage) -> [Step] {
        let actions = line.read(page, epoch: epoch, now: Example.now(now), silents: &silents)
        return actions.compactMap { step($0) }
    }

    /// The device acknowledges these attempts, by their positions on the line.
    mutating func acknowledged(_ numbers: UInt64...) -> [Step] {
        let acknowledged = line.acknowledged(numbers.map { epoch + $0 })
        let steps = acknowledged.attempts.flatMap { attempt -> [Step?] in
            [attempt.offer.map { .acknowledged($0.number) }, attempt.reference.flatMap { step(.remove($0)) }]
        }
        return (steps + [acknowledged.reading.flatMap { step(.read($0)) }]).compactMap(\.self)
    }

    /// The stream gives up these attempts, by their positions on the line.
    mutating func givenUp(_ numbers: UInt64...) -> [Step] {
        let actions = line.givenUp(numbers.map { epoch + $0 })
        return actions.compactMap { step($0) }
    }

    mutating func mayHaveMissed() -> [Step] {
        let actions = line.mayHaveMissed()
        return actions.compactMap { step($0) }
    }

    mutating func removed(_ app: UInt32) -> [Step] {
        let actions = line.removed(Example.destination(app: app))
        return actions.compactMap { step($0) }
    }

    mutating func end() -> [Step] {
        let actions = line.end()
        return actions.compactMap { step($0) }
    }

    mutating func changed(_ power: DevicePower) -> [Step] {
        let actions = line.changed(power, now: Example.now(now), silents: &silents)
        return actions.compactMap { step($0) }
    }

    mutating func tick() -> [Step] {
        let actions = line.tick(now: Example.now(now), silents: &silents)
        return actions.compactMap { step($0) }
    }

    /// Returns nil if the action is only for the delivery log.
    private func step(_ action: DeviceLine.Action) -> Step? {
        switch action {
        case .record: nil
        case .send(let attempt):
            .send(attempt.number - epoch, notification: attempt.notification.number)
        case .read(let request) where request.epoch != epoch: .otherRead
        case .read(let request): request.after.map { .readPage(after: $0.number) } ?? .read
        case .remove(let reference):
            .remove(app: reference.destination.app.rawValue, version: reference.version.number)
        case .returned(let offer, _): .returned(offer.number)
        case .releaseBroadcasts: .releaseBroadcasts
        }
    }
}
