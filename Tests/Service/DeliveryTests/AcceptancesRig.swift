@testable import Delivery
import Notifications
import Storage
import Testing

/// Runs ``Acceptances`` like its driver does, and returns its actions as numbers. A notification, its offer and its
/// ticket have the same number. Numbers follow the order of acceptance.
struct AcceptancesRig: ~Copyable {
    enum Step: Hashable {
        case accepted(UInt64)
        case unavailable(UInt64)
        case store([UInt64])
        case announce(UInt64, version: UInt64, offer: UInt64?)
        case remove(app: UInt32, version: UInt64)
        /// An action that no test checks.
        case other
    }

    var acceptances: Acceptances
    var now = Example.moment
    let limits: DeliveryLimits
    /// The app of each notification.
    private var apps: [UInt64: UInt32] = [:]
    /// The store's current batch.
    private var batch: [UInt64] = []

    /// - Parameters:
    ///   - isShared: whether other nodes use the same store.
    ///   - keeping: the apps that keep more than one notification.
    init(_ limits: DeliveryLimits = DeliveryLimits(), isShared: Bool = false, keeping: [UInt32] = []) {
        self.limits = limits
        acceptances = Acceptances(
            limits: limits, names: OfferNames(origin: Example.origin), isShared: isShared,
            keeping: KeepingApps(keeping.map(AppID.init)))
    }

    /// Whether no notification is under way.
    var isEmpty: Bool { acceptances.isEmpty }
    /// Whether a deadline is in the future.
    var isWaiting: Bool { acceptances.isWaiting }

    mutating func nextDeadline() -> Uptime? { acceptances.nextDeadline() }

    func mustFollow(app: UInt32 = 1) -> Bool { acceptances.mustFollow(Example.destination(app: app)) }

    mutating func accept(
        _ answer: OfferAnswer,
        app: UInt32 = 1,
        answers: any SubmissionAnswers = Example.answers,
    ) -> [Step] {
        let offer = acceptances.nextOffer()
        apps[offer.number] = app
        let actions = acceptances.accept(
            Example.submission(offer.number, to: Example.destination(app: app)),
            answers: answers,
            offer: offer,
            answered: answer,
            expires: now.advanced(by: .seconds(3600)),
            now: Example.now(now).uptime,
        )
        return steps(actions)
    }

    mutating func acknowledged(_ number: UInt64) -> [Step] {
        let actions = acceptances.acknowledged(OfferID(number), of: destination(of: number))
        return steps(actions)
    }

    mutating func returned(_ number: UInt64) -> [Step] {
        let actions = acceptances.returned(OfferID(number), of: destination(of: number))
        return steps(actions)
    }

    private func destination(of number: UInt64) -> Destination { Example.destination(app: apps[number] ?? 1) }

    mutating func tick() -> [Step] {
        let actions = acceptances.tick(now: Example.now(now).uptime)
        return steps(actions)
    }

    /// Advances the time beyond the deadline for acknowledgements.
    mutating func deadline() -> [Step] {
        now = now.advanced(by: limits.acknowledgementGrace)
        return tick()
    }

    mutating func drain() -> [Step] {
        let actions = acceptances.drain()
        return steps(actions)
    }

    /// The age of each notification of the store's current batch; nil if it is not late.
    private(set) var ages: [Duration?] = []
    /// How long each has waited since its request was read.
    private(set) var waits: [Duration?] = []

    /// Stores again what was locked. The driver does this after a pause.
    mutating func retryLocked() -> [Step] {
        guard acceptances.beginRetry() else { return [] }
        let actions = acceptances.retryLocked()
        return steps(actions)
    }

    /// The store answers the batch: with ten times the notification's number as the version, or with a failure.
    mutating func stored(_ numbers: [UInt64], failing: Set<UInt64> = [], locked: Set<UInt64> = []) -> [Step] {
        #expect(numbers == batch, "the store answers what it was asked for")
        batch = []
        let results = numbers.map { number -> Result<MailboxVersion, StoreError> in
            if locked.contains(number) { return .failure(StoreError(.locked, "A test holds it.")) }
            return failing.contains(number)
                ? .failure(StoreError(.unavailable, "The disk is full."))
                : .success(MailboxVersion(rawValue: number * 10))
        }
        let actions = acceptances.stored(results, now: Example.now(now).uptime)
        return steps(actions)
    }

    private mutating func steps(_ actions: [Acceptances.Action]) -> [Step] {
        let next = acceptances.nextBatch(now: Example.now(now).uptime)
        if !next.entries.isEmpty {
            batch = next.entries.map(\.notification.number)
            ages = next.entries.map(\.age)
            waits = next.entries.map(\.waited)
        }
        let steps: [Step] = (actions + next.actions).compactMap { action in
            switch action {
            case .record, .limitExceeded: return nil
            case .answer(_, let ticket, .accepted):
                return .accepted(ticket)
            case .answer(_, let ticket, .rejected(let rejection)) where rejection.reason == .serviceUnavailable:
                return .unavailable(ticket)
            case .answer:
                return .other
            case .announce(let stored, let offer):
                let number = stored.entry.notification.number
                return .announce(number, version: stored.version.rawValue, offer: offer?.number)
            case .remove(let reference):
                return .remove(app: reference.destination.app.rawValue, version: reference.version.rawValue)
            }
        }
        return steps + (next.entries.isEmpty ? [] : [.store(batch)])
    }
}

extension OfferID {
    init(_ number: UInt64) { self.init(origin: Example.origin, number: number) }
}
