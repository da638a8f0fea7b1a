import APNSProvider
import CampaignStore
import Foundation
import Notifications
import Storage
import Synchronization

/// The notifications of one pass that have no answer yet, and the outcomes that are not on the disk yet.
///
/// The message's position passes a recipient only when this recipient and all before it have an outcome on the disk.
final class OutcomeLedger: Sendable {
    private struct State {
        /// The recipients without an answer yet, by `apns-id`.
        var underWay: [UUID: Recipient] = [:]
        /// The recipients that are tried in the app's other environment, and have no answer from there yet.
        var elsewhere: [UUID: Recipient] = [:]
        var outcomes: [SendOutcome] = []
        /// The number of the last recipient that was taken from the source.
        var last: Int64
        /// The number of the first recipient that has to be tried again.
        var again: Int64?
        var failuresInARow = 0
        /// How many recipients have to be tried again.
        var failures = 0
        /// How many of them because of an outage, which says nothing about them.
        var outages = 0
        /// Why recipients have to be tried again.
        var cause: String?
        var refusal: String?
        var failure: StoreError?
        /// How many notifications the service answered.
        var answers = 0
        /// Whether a connection ended with notifications under way.
        var isConnectionLost = false
    }

    /// Stores outcomes with the new position. Returns how many installations ended.
    typealias Record = @Sendable ([SendOutcome], MessageRecord.Position) async throws(StoreError) -> Int

    private let state: Mutex<State>
    private let start: MessageRecord.Position
    private let clock: ProviderClock
    /// Whether a notification counts as failed if the service does not answer it in this pass.
    private let isLastPass: Bool
    private let bundleID: String
    /// Which of a recipient's device tokens gets the message; nil for the app's own.
    private let place: ServiceTokens.Place?
    /// Whether an accepted notification ends the Live Activity, and with it the device token.
    private let endsActivity: Bool
    /// By how much an accepted notification changes the number on the app's icon.
    private let badgeChange: Int64
    private let window: SendWindow
    private let firstAnswers: FirstAnswers
    /// Whether a recipient whose device token is bad here is tried in the app's other environment.
    private let triesElsewhere: Bool
    private let record: Record
    /// Called when installations have ended, so that hooks get an event.
    private let ended: @Sendable () -> Void

    init(
        from start: MessageRecord.Position,
        isLastPass: Bool,
        clock: ProviderClock,
        bundleID: String,
        place: ServiceTokens.Place? = nil,
        endsActivity: Bool = false,
        badgeChange: Int64 = 0,
        window: SendWindow = SendWindow(),
        firstAnswers: FirstAnswers = FirstAnswers(isOver: true),
        triesElsewhere: Bool = false,
        record: @escaping Record,
        ended: @escaping @Sendable () -> Void,
    ) {
        self.start = start
        self.isLastPass = isLastPass
        self.clock = clock
        self.bundleID = bundleID
        self.place = place
        self.endsActivity = endsActivity
        self.badgeChange = badgeChange
        self.window = window
        self.firstAnswers = firstAnswers
        self.triesElsewhere = triesElsewhere
        self.record = record
        self.ended = ended
        state = Mutex(State(last: start.after))
    }

    /// Whether the pass should go on.
    enum Verdict {
        case goOn
        /// Sending has to wait, because the store fails or too many outcomes wait for the disk.
        case wait
        case stop
    }

    var verdict: Verdict {
        state.withLock { state in
            if state.refusal != nil || state.failuresInARow >= ProviderServerLimits.failuresInARow { return .stop }
            // If the store fails, send no more until the known outcomes are on the disk.
            let size = window.size
            let isFull =
                state.outcomes.count >= ProviderServerLimits.waitingOutcomes
                // The client itself has the largest size.
                || (size < ProviderServerLimits.inFlight && state.underWay.count >= size)
            // In the last pass send one at a time: if a notification makes the service end the connection, this must not
            // be the outcome of others.
            let isBusy = isLastPass && !state.underWay.isEmpty
            return state.failure != nil || isFull || isBusy ? .wait : .goOn
        }
    }

    /// The result of the pass.
    struct Result: Sendable {
        /// Why the service refuses these credentials; nil if it does not.
        let refusal: String?
        /// Why recipients have to be tried again; nil if there are none.
        let cause: String?
        /// Whether the pass counts for ``ProviderServerLimits/passes``. If many failed, or some in an outage, the service is out
        /// of order, perhaps for hours, and this is nobody's fault.
        let isCounted: Bool
        /// How many notifications the service answered.
        let answers: Int
        let underWay: Int
        /// Why outcomes are not on the disk; nil if they are.
        let failure: StoreError?
    }

    var result: Result {
        state.withLock { state in
            Result(
                refusal: state.refusal, cause: state.again == nil ? nil : state.cause,
                isCounted: state.failures < ProviderServerLimits.failuresInARow && state.outages == 0,
                answers: state.answers,
                underWay: state.underWay.count, failure: state.failure)
        }
    }

    // MARK: Recipients

    /// Counts a recipient as under way until the service has answered its notification.
    func began(_ recipient: Recipient, as id: UUID) {
        state.withLock { state in
            state.underWay[id] = recipient
            state.last = recipient.number
        }
    }

    /// Records a failure for a recipient for whom no notification can be made.
    func failed(_ recipient: Recipient, _ reason: String) {
        let outcome = SendOutcome(installation: recipient.number, status: 0, reason: reason, at: clock.now())
        state.withLock { state in
            state.outcomes.append(outcome)
            state.last = recipient.number
        }
    }

    /// What to do with a notification that was answered.
    enum Next {
        case nothing
        /// Send it in the app's other environment, and call ``addElsewhere(_:_:in:)``.
        case tryElsewhere
    }

    /// Records the result of a notification.
    @discardableResult
    func add(_ id: UUID, _ result: Swift.Result<PushReceipt, ProviderError>) -> Next {
        let verdict = SendVerdict(result, isLastPass: isLastPass)
        let isBadToken = verdict.isBadToken
        if isBadToken, triesElsewhere {
            // It is not under way any more: others need not wait for it.
            state.withLock { $0.elsewhere[id] = $0.underWay.removeValue(forKey: id) }
            return .tryElsewhere
        }
        apply(verdict, to: id, result)
        if case .final(let status, _, _) = verdict, status != 0 { count(isBadToken: isBadToken) }
        return .nothing
    }

    /// Records the result of a notification that was tried in another environment.
    func addElsewhere(_ id: UUID, _ result: Swift.Result<PushReceipt, ProviderError>, in environment: Environment) {
        if case .success = result {
            apply(.final(status: 200, reason: nil, endedAt: nil), to: id, result, movedTo: environment)
            count(isBadToken: false)
        } else {
            // The answer of the environment that the app named counts.
            apply(.badToken, to: id, result)
            count(isBadToken: true)
        }
    }

    private func count(isBadToken: Bool) {
        guard firstAnswers.add(isBadToken: isBadToken) else { return }
        state.withLock { $0.refusal = $0.refusal ?? Self.otherEnvironment }
    }

    private static let otherEnvironment =
        "Nearly all of the first answers were BadDeviceToken: these device tokens look like the other environment's. Correct "
        + "the environment of the installations, or the address of the app's environments, and resume the message."

    private func apply(
        _ verdict: SendVerdict,
        to id: UUID,
        _ result: Swift.Result<PushReceipt, ProviderError>,
        movedTo environment: Environment? = nil,
    ) {
        let now = clock.now()
        state.withLock { state in
            guard let recipient = state.underWay.removeValue(forKey: id) ?? state.elsewhere.removeValue(forKey: id)
            else { return }
            switch verdict {
            case .final(let status, let reason, let endedAt):
                state.failuresInARow = 0
                if status != 0 {
                    state.answers += 1
                    window.grow()
                }
                let isEnd = status == 410 || (endsActivity && status == 200)
                state.outcomes.append(
                    SendOutcome(
                        installation: recipient.number, status: status, reason: reason, at: now,
                        endedAt: isEnd ? endedAt ?? now : nil,
                        endedToken: isEnd ? recipient.installation.token(place) : nil, endedPlace: isEnd ? place : nil,
                        movedTo: environment, movedToken: environment == nil ? nil : recipient.installation.deviceToken,
                        badgeChange: status == 200 ? badgeChange : 0))
            case .again(let cause), .outage(let cause):
                if case .outage = verdict { state.outages += 1 }
                state.failuresInARow += 1
                state.failures += 1
                state.cause = cause
                // Once in a pass, which ends soon after.
                if case .failure(let error) = result, error.mayHaveBeenTaken, !state.isConnectionLost {
                    state.isConnectionLost = true
                    window.shrink()
                }
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

    /// Writes the waiting outcomes. Only one call may run at a time.
    /// - Returns: nil if the store took them. Otherwise its error, and the outcomes still wait.
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
            // Keep the outcomes. Without them, a recipient whose notification was answered 200 would get it again.
            state.withLock { state in
                state.outcomes.insert(contentsOf: outcomes, at: 0)
                state.failure = error
            }
            return error
        }
    }

    /// Returns the last position before which every recipient has an outcome, on the disk or in the batch to be written
    /// now.
    private func newPosition(_ state: State) -> MessageRecord.Position {
        var position = start
        let open = min(
            state.underWay.values.lazy.map(\.number).min() ?? .max,
            state.elsewhere.values.lazy.map(\.number).min() ?? .max)
        let first = min(open, state.again ?? .max)
        position.after = max(start.after, first == .max ? state.last : first - 1)
        return position
    }
}
