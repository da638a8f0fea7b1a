import APNSProvider
import Delivery
import Foundation
import Notifications
import ProviderStore
import Synchronization

/// The recipients of one pass that are under way, and the outcomes that wait for the disk.
///
/// The message's position moves behind a recipient only when that one and all before it have their outcome on the disk.
final class OutcomeLedger: Sendable {
    private struct State {
        /// By `apns-id`.
        var underWay: [UUID: Recipient] = [:]
        var outcomes: [SendOutcome] = []
        /// The last recipient that was taken.
        var last: Int64
        /// The first recipient that has to be tried again.
        var again: Int64?
        var failuresInARow = 0
        var answered = 0
        /// Why somebody has to be tried again.
        var cause: String?
        var refusal: String?
        var failure: StoreError?
    }

    /// Keeps outcomes with the new position. Returns how many installations ended.
    typealias Record = @Sendable ([SendOutcome], MessageRecord.Position) async throws(StoreError) -> Int

    private let state: Mutex<State>
    private let start: MessageRecord.Position
    private let clock: ProviderClock
    /// Whether a notification that the service failed to answer counts as failed now.
    private let isLastPass: Bool
    private let bundleID: String
    private let record: Record
    /// Called when hooks have to hear of installations that ended.
    private let ended: @Sendable () -> Void

    init(
        from start: MessageRecord.Position,
        isLastPass: Bool,
        clock: ProviderClock,
        bundleID: String,
        record: @escaping Record,
        ended: @escaping @Sendable () -> Void,
    ) {
        self.start = start
        self.isLastPass = isLastPass
        self.clock = clock
        self.bundleID = bundleID
        self.record = record
        self.ended = ended
        state = Mutex(State(last: start.after))
    }

    /// Whether the pass should go on.
    enum Verdict {
        case goOn
        /// Too much waits for the disk.
        case wait
        case stop
    }

    var verdict: Verdict {
        state.withLock { state in
            if state.refusal != nil || state.failuresInARow >= ProviderServerLimits.failuresInARow { return .stop }
            // Nothing more is sent before what was heard is on the disk.
            let isFull = state.outcomes.count >= ProviderServerLimits.waitingOutcomes
            return state.failure != nil || isFull ? .wait : .goOn
        }
    }

    /// What the pass came to.
    struct Result: Sendable {
        /// Why the service refuses these credentials; nil if it does not.
        let refusal: String?
        /// Why recipients have to be tried again; nil if there are none.
        let cause: String?
        /// Whether the service answered anybody.
        let hasAnswered: Bool
    }

    var result: Result {
        state.withLock { state in
            Result(
                refusal: state.refusal, cause: state.again == nil ? nil : state.cause,
                hasAnswered: state.answered > 0)
        }
    }

    // MARK: Recipients

    func took(_ recipient: Recipient, as id: UUID) {
        state.withLock { state in
            state.underWay[id] = recipient
            state.last = recipient.number
        }
    }

    /// Takes a recipient for whom no notification can be made.
    func failed(_ recipient: Recipient, _ reason: String) {
        let outcome = SendOutcome(installation: recipient.number, status: 0, reason: reason, at: clock.now())
        state.withLock { state in
            state.outcomes.append(outcome)
            state.last = recipient.number
        }
    }

    /// Takes what came of a notification.
    func add(_ id: UUID, _ result: Swift.Result<PushReceipt, ProviderError>) {
        let verdict = SendVerdict(result, isLastPass: isLastPass)
        let now = clock.now()
        state.withLock { state in
            guard let recipient = state.underWay.removeValue(forKey: id) else { return }
            switch verdict {
            case .final(let status, let reason, let endedAt):
                state.failuresInARow = 0
                state.answered += 1
                state.outcomes.append(
                    SendOutcome(
                        installation: recipient.number, status: status, reason: reason, at: now,
                        endedAt: status == 410 ? endedAt ?? now : nil))
            case .again(let cause):
                state.failuresInARow += 1
                state.cause = cause
                state.again = min(state.again ?? .max, recipient.number)
            case .refused(let cause):
                state.refusal = cause
                state.again = min(state.again ?? .max, recipient.number)
            }
        }
    }

    // MARK: The disk

    /// Writes outcomes soon after they come, until the task is cancelled.
    func writeRegularly() async {
        var isFailing = false
        while !Task.isCancelled {
            await clock.sleep(isFailing ? ProviderServerLimits.storeDelay : ProviderServerLimits.outcomeDelay)
            isFailing = await write() != nil
        }
    }

    /// Writes what waits. Only one call may run at a time.
    /// - Returns: Why the store did not take it; nil if it did. Then it still waits.
    func write() async -> StoreError? {
        let (outcomes, position): ([SendOutcome], MessageRecord.Position) = state.withLock { state in
            defer { state.outcomes = [] }
            return (state.outcomes, newPosition(state))
        }
        guard !outcomes.isEmpty else { return nil }
        do throws(StoreError) {
            let count = try await record(outcomes, position)
            state.withLock { $0.failure = nil }
            ProviderServerMetrics.count(outcomes, bundleID: bundleID)
            if count > 0 { ended() }
            return nil
        } catch {
            // If they were forgotten, somebody who was answered 200 would get the message again.
            state.withLock { state in
                state.outcomes.insert(contentsOf: outcomes, at: 0)
                state.failure = error
            }
            return error
        }
    }

    /// Everybody before it has an outcome, on the disk or in the batch that is about to be written.
    private func newPosition(_ state: State) -> MessageRecord.Position {
        var position = start
        let open = state.underWay.values.lazy.map(\.number).min() ?? .max
        let first = min(open, state.again ?? .max)
        position.after = max(start.after, first == .max ? state.last : first - 1)
        return position
    }
}

/// What a result means for the recipient.
enum SendVerdict: Hashable {
    /// It is the recipient's outcome. A reason is missing if the service accepted the notification.
    case final(status: Int, reason: String?, endedAt: Timestamp?)
    /// The notification is sent again later, with the same `apns-id`.
    case again(cause: String)
    /// The service refuses the key or the certificate: nobody else would do better.
    case refused(cause: String)

    init(_ result: Result<PushReceipt, ProviderError>, isLastPass: Bool) {
        guard case .failure(let error) = result else {
            self = .final(status: 200, reason: nil, endedAt: nil)
            return
        }
        if let rejection = error.rejection {
            self.init(rejection, isLastPass: isLastPass)
        } else if error.code == .badNotification || error.code == .unexpectedAnswer {
            self = .final(status: 0, reason: "\(error.code)", endedAt: nil)
        } else if error.code == .badCredentials || error.code == .badEnvironment {
            self = .refused(cause: error.cause)
        } else if error.mayHaveBeenTaken, isLastPass {
            self = .final(status: 0, reason: "\(error.code)", endedAt: nil)
        } else {
            self = .again(cause: error.cause)
        }
    }

    private init(_ rejection: PushRejection, isLastPass: Bool) {
        let reason = rejection.reason.description
        let ended = rejection.timestamp.map {
            Timestamp(milliseconds: UInt64(max(0, $0.timeIntervalSince1970 * 1000).rounded()))
        }
        switch rejection.advice {
        case .fixCredentials: self = .refused(cause: rejection.description)
        // Too many to this device token: the client has waited as long as it may.
        case .retryLater where rejection.status == 429:
            self = .final(status: 429, reason: reason, endedAt: nil)
        case .retryLater, .reconnect, .renewProviderToken:
            self =
                isLastPass
                ? .final(status: rejection.status, reason: reason, endedAt: nil)
                : .again(cause: rejection.description)
        case .fixRequest, .forgetDeviceToken:
            self = .final(status: rejection.status, reason: reason, endedAt: ended)
        }
    }
}
