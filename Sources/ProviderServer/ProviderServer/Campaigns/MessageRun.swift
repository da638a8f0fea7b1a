import APNSProvider
import CampaignStore
import Connections
import Foundation
import NIOCore
import Notifications
import Storage

/// Sends one message to its recipients, from the stored position to the end.
///
/// The store returns recipients in the order of their numbers, first for production, then for development. If the
/// message has a local time, it is sent to one group of time zones after the other. After a crash, recipients whose
/// outcome is not on the disk get the notification again, with the same `apns-id`.
struct MessageRun: Sendable {
    let message: MessageRecord
    let document: MessageDocument
    let store: any CampaignStore
    let apps: AppDirectory
    let clients: ProviderClients
    let control: RunControl
    let clock: ProviderClock
    /// Called when there is a new event for hooks.
    let noted: @Sendable () -> Void

    /// How sending ended.
    enum End: Sendable, Hashable {
        /// Every recipient has an outcome.
        case finished
        /// The message was paused or cancelled, or the server shuts down.
        case stopped
        /// The next recipients get the message at this local time.
        case waits(until: Timestamp)
        /// The message cannot continue until a person has solved the problem.
        case refused(cause: String)
    }

    /// Sends the message. Does not run on the actor that starts it.
    @concurrent func run() async -> End {
        var position = message.position
        while let part = await next(from: position) {
            guard !control.isStopped else { return .stopped }
            guard part.due <= clock.now() else { return .waits(until: part.due) }
            guard let app = apps.app(number: message.app) else { return .stopped }
            for environment in Environment.sendingOrder where app.endpoints[environment] != nil {
                guard let start = position.start(of: part.due, environment) else { continue }
                if let end = await work(part, start) { return end }
            }
            position.due = part.due.advanced(by: .milliseconds(1))
            position.environment = .production
            position.after = 0
        }
        return control.isStopped ? .stopped : .finished
    }

    // MARK: Parts

    /// Recipients who get the message at the same moment.
    struct Part: Sendable, Hashable {
        let due: Timestamp
        /// The time zones of the recipients; nil for all.
        let timeZones: [String]?
    }

    /// Returns the first part at or after a position; nil if there is none. If the store fails, waits until it works
    /// again.
    private func next(from position: MessageRecord.Position) async -> Part? {
        guard let time = document.localTime else {
            return message.starts >= position.due ? Part(due: message.starts, timeZones: nil) : nil
        }
        var failures = 0
        while !control.isStopped {
            do throws(StoreError) {
                let zones = try await store.timeZones(app: message.app)
                let parts = Dictionary(grouping: zones, by: { time.moment(in: $0) })
                let due = parts.keys.filter { $0 >= position.due }.min()
                return due.map { Part(due: $0, timeZones: parts[$0]) }
            } catch {
                failures += 1
                await wait(for: error.cause, failures)
            }
        }
        return nil
    }

    // MARK: Passes

    /// Sends to one part of one environment until every recipient has an outcome.
    /// - Returns: why sending ended early; nil if every recipient has an outcome.
    private func work(_ part: Part, _ start: MessageRecord.Position) async -> End? {
        var (failures, passes, position) = (0, 1, start)
        while true {
            // Read the app again, because its address or its key may have changed.
            guard !control.isStopped, let app = apps.app(number: message.app) else { return .stopped }
            let outcome = await pass(part, position, app, isLast: passes >= ProviderServerLimits.passes)
            guard !control.isStopped else { return .stopped }
            switch outcome {
            case .done: return nil
            case .refused(let cause): return .refused(cause: cause)
            case .again(let cause, let isCounted):
                failures = isCounted ? 1 : failures + 1
                if isCounted { passes += 1 }
                await wait(for: cause, failures)
            }
            position = await kept(start)
        }
    }

    /// Returns the stored position. If the store has no position in this part yet, returns the part's start.
    private func kept(_ start: MessageRecord.Position) async -> MessageRecord.Position {
        guard let kept = try? await store.message(message.id)?.position, kept.due == start.due,
            kept.environment == start.environment
        else { return start }
        var position = start
        position.after = max(start.after, kept.after)
        return position
    }

    private enum PassEnd {
        case done
        case refused(String)
        /// - Parameter isCounted: whether the pass counts for ``ProviderServerLimits/passes``.
        case again(cause: String, isCounted: Bool)
    }

    private func pass(
        _ part: Part,
        _ position: MessageRecord.Position,
        _ app: ProviderApp,
        isLast: Bool,
    ) async -> PassEnd {
        let ledger = ledger(from: position, isLastPass: isLast, bundleID: app.bundleID)
        let client: ProviderClient
        do {
            guard let known = try await clients.client(app, position.environment) else { return .done }
            client = known
        } catch {
            return .refused("\(error)")
        }
        let query = RecipientQuery(
            app: message.app, message: message.number, audience: document.audience, environment: position.environment,
            timeZones: part.timeZones, after: position.after, last: message.position.last ?? .max)
        let source = RecipientSource(
            message: message, document: document, app: app, query: query, store: store, ledger: ledger,
            control: control, clock: clock)
        let writing = Task { await ledger.writeRegularly() }
        var trouble: String?
        do {
            for try await outcome in client.send(source) {
                guard let id = outcome.item.notification.id else { continue }
                ledger.add(id, outcome.result)
            }
        } catch {
            trouble = "\(error)"
        }
        writing.cancel()
        await writing.value
        var failures = 0
        while let failure = await ledger.write(), !control.isStopped {
            failures += 1
            await wait(for: failure.cause, failures)
        }
        let result = ledger.result
        if let refusal = result.refusal { return .refused(refusal) }
        guard let cause = trouble ?? result.cause else { return .done }
        // If the store failed, the pass did not reach all recipients.
        return .again(cause: cause, isCounted: trouble == nil && result.isCounted)
    }

    private func ledger(
        from position: MessageRecord.Position,
        isLastPass: Bool,
        bundleID: String,
    ) -> OutcomeLedger {
        OutcomeLedger(
            from: position, isLastPass: isLastPass, clock: clock, bundleID: bundleID,
            record: { [store, message] outcomes, position async throws(StoreError) in
                try await store.record(outcomes, of: message, position: position) { ended in
                    ProviderEvents.installationsEnded(ended, bundleID: bundleID, message: message.id)
                }
            },
            ended: noted)
    }

    /// Stores the cause of the delay, and waits longer after each failure.
    private func wait(for cause: String, _ failures: Int) async {
        guard !control.isStopped else { return }
        await recordCause(cause)
        let delay = GrowingDelay(first: ProviderServerLimits.firstDelay, longest: ProviderServerLimits.longestDelay)
        let time = delay.delay(afterFailures: failures, random: .random(in: 0...1))
        await control.sleep(for: .nanoseconds(time.nanoseconds))
        if !control.isStopped { await recordCause(nil) }
    }

    private func recordCause(_ cause: String?) async {
        // Ignore a failure of the store here, because the server's health shows it.
        _ = try? await store.changeMessage(message.id) { message in
            if message.state == .running { message.cause = cause }
            return nil
        }
    }
}

extension Environment {
    /// The order in which a message works through the environments. Production is the first, because a message waits for a
    /// server that cannot be reached, and a forgotten development server must not keep it from its users.
    static let sendingOrder: [Environment] = [.production, .development]
}

extension MessageRecord.Position {
    /// Returns the position at which sending to one environment of a part begins; nil if that environment is done.
    fileprivate func start(of due: Timestamp, _ environment: Environment) -> MessageRecord.Position? {
        var start = self
        (start.due, start.environment, start.after) = (due, environment, 0)
        guard self.due == due else { return start }
        if self.environment == .development, environment == .production { return nil }
        start.after = self.environment == environment ? after : 0
        return start
    }
}
