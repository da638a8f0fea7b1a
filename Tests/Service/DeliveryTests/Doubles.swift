import Delivery
import DeliveryTesting
import Dispatch
import Notifications
import SQLiteStore
import Storage
import Synchronization

/// A device's stream that records the attempts that are sent on it.
final class RecordingStream: NotificationStream {
    let attempts = Recorder<DeliveryAttempt>()
    let ends = Recorder<StreamEnd>()

    private let events = Recorder<Void>()

    func send(_ attempt: DeliveryAttempt) {
        attempts.record(attempt)
        events.record(())
    }

    func end(_ reason: StreamEnd) {
        ends.record(reason)
        events.record(())
    }

    /// Waits until an attempt was sent on the stream, or the stream has ended.
    func isSentOrEnded() async { _ = await events.first(1) }

    /// The numbers of the sent notifications.
    var numbers: [UInt64] { attempts.values.map(\.notification.number) }
}

/// The connection of a gateway. It records the answers.
final class RecordingAnswers: SubmissionAnswers {
    let answers = Recorder<(ticket: UInt64, outcome: Outcome)>()

    func answer(_ ticket: UInt64, with outcome: Outcome) { answers.record((ticket, outcome)) }

    var accepted: [UInt64] { answers.values.filter { $0.outcome == .accepted }.map(\.ticket) }

    /// The reason for which a submission was rejected.
    func reason(of ticket: UInt64) -> Rejection.Reason? {
        for answer in answers.values where answer.ticket == ticket {
            if case .rejected(let rejection) = answer.outcome { return rejection.reason }
        }
        return nil
    }
}

/// The connection of a gateway that takes long to handle an answer.
final class SlowAnswers: SubmissionAnswers {
    let arrivals = Recorder<UInt64>()
    private let semaphore = DispatchSemaphore(value: 0)

    func answer(_ ticket: UInt64, with outcome: Outcome) {
        arrivals.record(ticket)
        semaphore.wait()
    }

    func release() { semaphore.signal() }
}

/// The connection of a gateway that accepts nothing more after a rejection.
final class FaultyConnection: SubmissionAnswers {
    let answers = Recorder<UInt64>()

    func answer(_ ticket: UInt64, with outcome: Outcome) { answers.record(ticket) }
    var takesMore: Bool { answers.values.isEmpty }
}

/// Records the outcomes of offers.
final class RecordingOutcomes: OfferOutcomes {
    enum Event: Hashable {
        case acknowledged(UInt64)
        case returned(UInt64)
    }

    let events = Recorder<Event>()

    func acknowledged(_ offer: OfferID, of destination: Destination) { events.record(.acknowledged(offer.number)) }
    func returned(_ offer: OfferID, of destination: Destination) { events.record(.returned(offer.number)) }
}

/// A switchboard that also records announcements of stored notifications.
final class WatchedSwitchboard: Switchboard {
    let switchboard: LocalSwitchboard
    let announced = Recorder<StoredMailboxEntry>()

    init(_ switchboard: LocalSwitchboard) { self.switchboard = switchboard }

    func offer(_ offer: Offer, now: Moment) -> OfferAnswer { switchboard.offer(offer, now: now) }
    func stored(_ entry: StoredMailboxEntry, offer: OfferID?) {
        switchboard.stored(entry, offer: offer)
        announced.record(entry)
    }
    func attach(_ stream: any NotificationStream, of device: DeviceKey, power: DevicePower) {
        switchboard.attach(stream, of: device, power: power)
    }
    func detach(_ stream: any NotificationStream, of device: DeviceKey) { switchboard.detach(stream, of: device) }
    func acknowledge(_ attempts: [UInt64], by device: DeviceKey) { switchboard.acknowledge(attempts, by: device) }
    func giveUp(_ attempts: [UInt64], to device: DeviceKey) { switchboard.giveUp(attempts, to: device) }
    func changePower(of device: DeviceKey, to power: DevicePower) { switchboard.changePower(of: device, to: power) }
    func removed(_ destination: Destination) { switchboard.removed(destination) }
    func disconnect(_ device: DeviceKey, because end: StreamEnd) { switchboard.disconnect(device, because: end) }
    func connected(in environment: Environment, after device: DeviceID?, limit: Int) -> [ConnectedDevice] {
        switchboard.connected(in: environment, after: device, limit: limit)
    }
    func report(to outcomes: any OfferOutcomes) { switchboard.report(to: outcomes) }
}

/// A clock that stands still until a test sets it.
final class SettableClock: Sendable {
    private let moment = Mutex(Example.now)
    var now: Moment { moment.withLock { $0 } }

    func advance(by duration: Duration) {
        moment.withLock { $0 = Moment(time: $0.time.advanced(by: duration), uptime: $0.uptime.advanced(by: duration)) }
    }

    /// Sets the time of day back, but not the uptime.
    func setBack(by duration: Duration) {
        moment.withLock { $0.time = $0.time.advanced(by: .zero - duration) }
    }
}

/// A delivery log that records all events.
final class RecordingLog: DeliveryLog {
    let events = Recorder<DeliveryEvent>()

    func record(_ event: DeliveryEvent) { events.record(event) }

    /// The events of a notification, in order.
    func steps(of number: UInt64) -> [DeliveryStep] {
        events.values.filter { $0.subject.id.low == number }.map(\.step)
    }
}

extension Switchboard {
    func offer(_ offer: Offer) -> OfferAnswer { self.offer(offer, now: Example.now) }
    func attach(_ stream: any NotificationStream, of device: DeviceKey) { attach(stream, of: device, power: .low) }
}

/// Registrations of which only some are known without a look-up.
final class RegistrationsElsewhere: ForwardingStore {
    let memory: SQLiteStore
    var inner: any Store { memory }
    private let isReachable: Bool
    private let isHeld: Bool
    private let knowing: Set<Destination>
    private let outdated: KnownRegistration?
    private let releases = Recorder<Void>()

    /// - Parameters:
    ///   - isHeld: whether a look-up waits for ``release()``.
    ///   - knowing: the destinations that are known without a look-up.
    ///   - outdated: what is known of these destinations, if it is not what the store has.
    init(
        isReachable: Bool = true,
        isHeld: Bool = false,
        knowing: Set<Destination> = [],
        outdated: KnownRegistration? = nil,
    ) throws {
        self.outdated = outdated
        memory = try .inMemory()
        self.isReachable = isReachable
        self.knowing = knowing
        self.isHeld = isHeld
    }

    func release() { releases.record(()) }

    func knownRegistration(of destination: Destination) -> KnownRegistration? {
        knowing.contains(destination) ? outdated ?? memory.knownRegistration(of: destination) : nil
    }

    func lookUp(_ destinations: [Destination]) async throws(StoreError) -> [Registration?] {
        if isHeld { _ = await releases.first(1) }
        guard isReachable else { throw StoreError(.unavailable, "A test wants it so.") }
        return try await memory.lookUp(destinations)
    }
}
