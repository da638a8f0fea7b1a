import APNSProvider
import CampaignStore
import Connections
import Foundation
import Logging
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
    let definition: MessageDefinition
    let store: any CampaignStore
    let apps: AppDirectory
    let clients: ProviderClients
    let control: RunControl
    let clock: ProviderClock
    let logger: Logger
    /// Called when there is a new event for hooks.
    let onNewEvent: @Sendable () -> Void

    let slowReads = SlowReads()
    private let firstAnswers: FirstAnswers

    init(
        message: MessageRecord,
        definition: MessageDefinition,
        store: any CampaignStore,
        apps: AppDirectory,
        clients: ProviderClients,
        control: RunControl,
        clock: ProviderClock,
        logger: Logger,
        onNewEvent: @escaping @Sendable () -> Void,
    ) {
        self.message = message
        self.definition = definition
        self.store = store
        self.apps = apps
        self.clients = clients
        self.control = control
        self.clock = clock
        self.logger = logger
        self.onNewEvent = onNewEvent
        firstAnswers = FirstAnswers(isOver: message.tally.total > 0)
    }

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
        async let counting: Void = count()
        let end = await send()
        await counting
        return end
    }

    /// Counts the recipients, while the first of them get the message.
    private func count() async {
        guard message.total == nil, let app = apps.app(number: message.app) else { return }
        var total: Int64 = definition.channel == nil ? 0 : 1
        let queries = app.recipientQueries(definition.audience, now: message.starts, last: message.position.last)
        for query in queries where definition.channel == nil {
            // Without the total, the progress has no end to compare with. The next run counts again.
            guard !control.isStopped, let count = try? await store.count(query) else { return }
            total += count
        }
        let counted = total
        _ = try? await store.changeMessage(message.id) { message in
            if message.total == nil { message.total = counted }
            return nil
        }
    }

    private func send() async -> End {
        if let channel = definition.channel { return await broadcast(to: channel) }
        var position = message.position
        while let part = await nextPart(from: position) {
            guard part.due <= clock.now() else { return control.isStopped ? .stopped : .waits(until: part.due) }
            if let end = await send(part, &position) { return end }
        }
        // The last ones to wait may all have moved to time zones whose turn had passed.
        if isByTimeZone, let rest = await latecomers(before: position.due), let end = await send(rest, &position) {
            return end
        }
        if control.isStopped { return .stopped }
        return slowReads.refusal.map { .refused(cause: $0) } ?? .finished
    }

    /// Sends to a part that is due, and moves the position behind it.
    /// - Returns: why sending ended early; nil if every recipient of the part has an outcome.
    private func send(_ part: Part, _ position: inout MessageRecord.Position) async -> End? {
        guard !control.isStopped else { return .stopped }
        guard let app = apps.app(number: message.app) else { return .stopped }
        for environment in app.sendingEnvironments {
            guard let start = position.start(of: part.due, environment) else { continue }
            if let end = await sendToPart(part, start) { return end }
        }
        position.due = part.due.advanced(by: .milliseconds(1))
        position.environment = .production
        position.after = 0
        return nil
    }

    // MARK: Passes

    /// What the passes of a message share.
    private struct Flow {
        let window: SendWindow
        let firstAnswers: FirstAnswers
    }

    /// Sends to one part of one environment until every recipient has an outcome.
    /// - Returns: why sending ended early; nil if every recipient has an outcome.
    private func sendToPart(_ part: Part, _ start: MessageRecord.Position) async -> End? {
        var (failures, passes, position) = (0, 1, start)
        let flow = Flow(window: SendWindow(), firstAnswers: firstAnswers)
        while true {
            // Read the app again, because its address or its key may have changed.
            guard !control.isStopped, let app = apps.app(number: message.app) else { return .stopped }
            let outcome = await pass(part, position, app, isLast: passes >= ProviderServerLimits.passes, flow)
            guard !control.isStopped else { return .stopped }
            switch outcome {
            case .done: return nil
            case .refused(let cause): return .refused(cause: cause)
            case .again(let cause, let isCounted, let hasProgress, let trouble):
                failures = isCounted || hasProgress ? 1 : failures + 1
                if isCounted { passes += 1 }
                // A search that has found somebody is progress: the next one begins behind them.
                if hasProgress { slowReads.add(nil) }
                slowReads.add(trouble)
                if let refusal = slowReads.refusal { return .refused(cause: refusal) }
                await wait(for: cause, failures)
            }
            position = await storedPosition(after: start)
        }
    }

    /// Returns the stored position. If the store has no position in this part yet, returns the part's start.
    private func storedPosition(after start: MessageRecord.Position) async -> MessageRecord.Position {
        guard let stored = try? await store.message(message.id)?.position, stored.due == start.due,
            stored.environment == start.environment
        else { return start }
        var position = start
        position.after = max(start.after, stored.after)
        return position
    }

    private enum PassEnd {
        case done
        case refused(String)
        /// - Parameters:
        ///   - isCounted: whether the pass counts for ``ProviderServerLimits/passes``.
        ///   - hasProgress: whether the service answered some of the notifications.
        ///   - trouble: why not all recipients were found; nil if they were.
        case again(cause: String, isCounted: Bool, hasProgress: Bool, trouble: (any Error)?)
    }

    private func pass(
        _ part: Part,
        _ position: MessageRecord.Position,
        _ app: ProviderApp,
        isLast: Bool,
        _ flow: Flow,
    ) async -> PassEnd {
        let target: Target
        do {
            guard let known = try await self.target(of: app, position.environment) else { return .done }
            target = known
        } catch {
            return .refused("\(error)")
        }
        let ledger = ledger(
            from: position, isLastPass: isLast, bundleID: app.bundleID, target.place, flow,
            triesElsewhere: target.elsewhere != nil)
        var query = RecipientQuery(
            app: message.app, message: message.number, audience: definition.audience, environment: position.environment,
            timeZones: part.timeZones, now: message.starts, after: position.after, last: message.position.last ?? .max)
        do throws(StoreError) {
            query = try await store.prepared(query)
        } catch {
            return .again(cause: error.cause, isCounted: false, hasProgress: false, trouble: error)
        }
        let source = RecipientSource(
            message: message, definition: definition, app: app, query: query, store: store, ledger: ledger,
            place: target.place, control: control, clock: clock)
        let writing = Task { await ledger.writeRegularly() }
        let watching = Task { await watch(ledger, target.client) }
        let trouble = await send(source, to: target, ledger)
        writing.cancel()
        watching.cancel()
        await writing.value
        await watching.value
        var failures = 0
        while let failure = await ledger.write(), !control.isStopped {
            failures += 1
            await wait(for: failure.cause, failures)
        }
        let result = ledger.result
        if let refusal = result.refusal { return .refused(refusal) }
        guard let cause = trouble.map({ "\($0)" }) ?? result.cause else {
            if result.answers > 0 { await recordCause(nil) }
            return .done
        }
        // If the store failed, the pass did not reach all recipients.
        return .again(
            cause: cause, isCounted: trouble == nil && result.isCounted, hasProgress: result.answers > 0,
            trouble: trouble)
    }

    /// Where a pass sends.
    private struct Target {
        let client: ProviderClient
        /// The app's other environment; nil if no recipient is tried there.
        let elsewhere: (client: ProviderClient, environment: Environment)?
        /// Which of a recipient's device tokens gets the message; nil for the app's own.
        let place: ServiceTokens.Place?
    }

    /// - Returns: nil if the app has no endpoint in the environment.
    private func target(of app: ProviderApp, _ environment: Environment) async throws -> Target? {
        // A message that an older version accepted may not say which Live Activity it updates.
        let place = try definition.place(of: app.bundleID)
        guard let client = try await clients.client(app, environment) else { return nil }
        // A device token of a service says nothing about that of the app.
        let other = place == nil ? try await clients.client(app, environment.other) : nil
        return Target(client: client, elsewhere: other.map { ($0, environment.other) }, place: place)
    }

    /// Sends to all recipients of a search, and tries those again elsewhere whose device token is bad here.
    /// - Returns: why not all recipients were found; nil if they were.
    private func send(_ source: RecipientSource, to target: Target, _ ledger: OutcomeLedger) async -> (any Error)? {
        var trouble: (any Error)?
        var misplaced: [Push] = []
        var together = ProviderServerLimits.triedTogether
        do {
            for try await outcome in target.client.send(source) {
                guard let id = outcome.item.notification.id else { continue }
                guard ledger.add(id, outcome.result) == .tryElsewhere, let other = target.elsewhere else { continue }
                misplaced.append(outcome.item)
                guard misplaced.count >= together else { continue }
                let isAnswered = await send(misplaced, with: other.client, in: other.environment, ledger)
                together =
                    isAnswered
                    ? ProviderServerLimits.triedTogether : ProviderServerLimits.triedTogetherAfterSilence
                misplaced = []
            }
        } catch {
            trouble = error
        }
        // If the search failed, those that it had found before are tried all the same.
        if let other = target.elsewhere, !misplaced.isEmpty {
            _ = await send(misplaced, with: other.client, in: other.environment, ledger)
        }
        return trouble
    }

    /// Tries recipients once in the app's other environment. If the message was stopped, they get no outcome: whoever goes on
    /// tries them again.
    /// - Returns: whether the service there has answered any of them.
    private func send(
        _ pushes: [Push],
        with client: ProviderClient,
        in environment: Environment,
        _ ledger: OutcomeLedger,
    ) async -> Bool {
        // Another server may have taken the message over while this one could not renew its hold.
        await control.untilHeld()
        guard !control.isStopped else { return true }
        var isAnswered = false
        for await outcome in client.send(pushes, deadline: ProviderServerLimits.elsewhereDeadline) {
            guard let id = outcome.item.notification.id else { continue }
            switch outcome.result {
            case .success: isAnswered = true
            case .failure(let error): isAnswered = isAnswered || error.rejection != nil
            }
            ledger.addElsewhere(id, outcome.result, in: environment)
        }
        return isAnswered
    }

    /// Says why sending does not get on, while a pass still waits for answers or for the disk, and when it gets on again.
    private func watch(_ ledger: OutcomeLedger, _ client: ProviderClient) async {
        var answers = ledger.result.answers
        var silence = 0
        while !Task.isCancelled {
            await clock.sleep(ProviderServerLimits.watchInterval)
            guard !Task.isCancelled else { return }
            let now = ledger.result
            if let failure = now.failure {
                await recordCause(failure.cause)
            } else if now.answers > answers {
                silence = 0
                await recordCause(nil)
            } else if now.underWay > 0 {
                silence += 1
                if silence >= ProviderServerLimits.silentIntervals, control.cause == nil {
                    // The client may have got answers, because of which it sends again.
                    await recordCause(
                        client.trouble?.cause
                            ?? "The service has not answered for some seconds; the server goes on trying.")
                }
            }
            answers = now.answers
        }
    }

    private func ledger(
        from position: MessageRecord.Position,
        isLastPass: Bool,
        bundleID: String,
        _ place: ServiceTokens.Place?,
        _ flow: Flow,
        triesElsewhere: Bool,
    ) -> OutcomeLedger {
        OutcomeLedger(
            from: position, isLastPass: isLastPass, clock: clock, bundleID: bundleID, place: place,
            endsActivity: definition.endsActivity, badgeChange: definition.template.badgeChange, window: flow.window,
            firstAnswers: flow.firstAnswers,
            triesElsewhere: triesElsewhere,
            record: { [store, message] outcomes, position async throws(StoreError) in
                try await store.record(outcomes, of: message, position: position) { ended in
                    ProviderEvents.installationsEnded(ended, bundleID: bundleID, message: message.id)
                }
            },
            ended: onNewEvent)
    }

    /// Stores the cause of the delay, and waits longer after each failure. The cause stays until the service answers again.
    func wait(for cause: String, _ failures: Int) async {
        guard !control.isStopped else { return }
        await recordCause(cause)
        await control.sleep(for: ProviderServerLimits.sendingDelay.duration(afterFailures: failures))
    }

    private func recordCause(_ cause: String?) async {
        let before = control.setCause(cause)
        guard before != cause else { return }
        if let cause {
            logger.warning("A message waits", metadata: ["message": "\(message.id)", "cause": "\(cause)"])
        } else {
            logger.info("A message goes on", metadata: ["message": "\(message.id)"])
        }
        // Ignore a failure of the store. It may be the cause, which this server then shows from memory.
        _ = try? await store.changeMessage(message.id) { message in
            if message.state == .running { message.cause = cause }
            return nil
        }
    }
}

extension Environment {
    fileprivate var other: Environment { self == .production ? .development : .production }
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
