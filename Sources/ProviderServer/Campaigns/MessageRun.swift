import APNSProvider
import Connections
import Delivery
import Foundation
import NIOCore
import Notifications
import ProviderStore

/// Works one message through, from its position to its end.
///
/// Recipients come from the store in the order of their numbers, one environment after the other, and with a local time
/// one time zone after the other. Everything that is not on the disk is done again after a crash, with the same
/// `apns-id`.
struct MessageRun: Sendable {
    let message: MessageRecord
    let document: MessageDocument
    let store: any ProviderStore
    let apps: AppDirectory
    let clients: ProviderClients
    let control: RunControl
    let clock: ProviderClock
    /// Called when hooks have to hear of something.
    let noted: @Sendable () -> Void

    /// How sending ended.
    enum End: Sendable, Hashable {
        /// Every recipient has an outcome.
        case finished
        /// Somebody stopped it, or the server shuts down.
        case stopped
        /// It cannot go on before a person has done something.
        case refused(cause: String)
    }

    /// Runs apart from the actor that starts it.
    @concurrent func run() async -> End {
        var position = message.position
        while let part = await next(from: position) {
            guard !control.isStopped else { return .stopped }
            if let wait = part.due.wait(from: clock.now()) {
                await control.sleep(for: wait)
                continue
            }
            guard let app = apps.app(number: message.app) else { return .stopped }
            for environment in Environment.sendingOrder where app.endpoints[environment] != nil {
                guard let start = position.start(of: part.due, environment) else { continue }
                if let end = await work(part, start) { return end }
            }
            position.due = part.due.advanced(by: .milliseconds(1))
            position.environment = .development
            position.after = 0
        }
        return control.isStopped ? .stopped : .finished
    }

    // MARK: Parts

    /// Recipients who get the message at the same moment.
    struct Part: Sendable, Hashable {
        let due: Timestamp
        /// Nil for all.
        let timeZones: [String]?
    }

    /// The first part from a position on; nil if there is none. Waits for a store that is away.
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

    /// Sends to one part of one environment until everybody has an outcome.
    /// - Returns: nil when that is so.
    private func work(_ part: Part, _ start: MessageRecord.Position) async -> End? {
        var (failures, passes, position) = (0, 1, start)
        while true {
            // Somebody may have given it another address or key meanwhile.
            guard !control.isStopped, let app = apps.app(number: message.app) else { return .stopped }
            let outcome = await pass(part, position, app, isLast: passes >= ProviderServerLimits.passes)
            guard !control.isStopped else { return .stopped }
            switch outcome {
            case .done: return nil
            case .refused(let cause): return .refused(cause: cause)
            case .again(let cause, let hasAnswered):
                failures = hasAnswered ? 1 : failures + 1
                // If nobody is answered it is the service, which may be away for hours.
                if hasAnswered { passes += 1 }
                await wait(for: cause, failures)
            }
            position = await kept(start)
        }
    }

    /// The position that the store has, or where it began if it has none of this part yet.
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
        case again(cause: String, hasAnswered: Bool)
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
        return .again(cause: cause, hasAnswered: result.hasAnswered)
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

    /// Says why it does not go on, and waits longer after each failure.
    private func wait(for cause: String, _ failures: Int) async {
        guard !control.isStopped else { return }
        await note(cause)
        let delay = GrowingDelay(first: ProviderServerLimits.firstDelay, longest: ProviderServerLimits.longestDelay)
        let time = delay.delay(afterFailures: failures, random: .random(in: 0...1))
        await control.sleep(for: .nanoseconds(time.nanoseconds))
        if !control.isStopped { await note(nil) }
    }

    private func note(_ cause: String?) async {
        // If the store is away, its own trouble is seen in the server's health.
        _ = try? await store.changeMessage(message.id) { message in
            if message.state == .running { message.cause = cause }
            return nil
        }
    }
}

extension Timestamp {
    /// How long it is until then; nil if it is now or past.
    fileprivate func wait(from now: Timestamp) -> Duration? {
        self > now ? .milliseconds(Int64(clamping: milliseconds - now.milliseconds)) : nil
    }
}

extension Environment {
    /// The order in which a message works through the environments.
    static let sendingOrder: [Environment] = [.development, .production]
}

extension MessageRecord.Position {
    /// Where sending to one environment of a part begins; nil if that is done.
    fileprivate func start(of due: Timestamp, _ environment: Environment) -> MessageRecord.Position? {
        var start = self
        (start.due, start.environment, start.after) = (due, environment, 0)
        guard self.due == due else { return start }
        if self.environment == .production, environment == .development { return nil }
        start.after = self.environment == environment ? after : 0
        return start
    }
}
