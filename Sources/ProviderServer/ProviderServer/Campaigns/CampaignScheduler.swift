import CampaignStore
import Foundation
import Logging
import Notifications
import Storage

/// Starts messages when they are due, limits how many are sent at once, and stops them.
actor CampaignScheduler {
    private struct RunningMessage {
        let app: Int64
        let number: Int64
        let control: RunControl
        let task: Task<Void, Never>
        var isEnding = false
    }

    private let store: any CampaignStore
    private let apps: AppDirectory
    private let clients: ProviderClients
    private let clock: ProviderClock
    private let logger: Logger
    /// Called when there is a new event for hooks.
    private let onNewEvent: @Sendable () -> Void
    private var running: [String: RunningMessage] = [:]
    /// When to go on with the messages whose next recipients wait for their local time. These messages are not sent now, so
    /// they do not count for the limit.
    private var waiting: [String: Timestamp] = [:]
    /// Why messages that are due cannot begin, by their identifiers: the disk is full, for example.
    private var delays: [String: String] = [:]
    /// Those who wait for the end of a message.
    private var waiters: [UUID: AsyncStream<Void>.Continuation] = [:]
    /// How many requests have stopped messages or changed their rates.
    private var changes = 0
    /// How long the service may take to answer a notification.
    private let deadline: Duration
    private var isClosed = false
    private lazy var dueWork = DueWork(clock: clock) { [weak self] in await self?.runOnce() }

    init(
        _ store: any CampaignStore,
        _ apps: AppDirectory,
        _ clients: ProviderClients,
        clock: ProviderClock,
        deadline: Duration,
        logger: Logger,
        onNewEvent: @escaping @Sendable () -> Void,
    ) {
        self.store = store
        self.apps = apps
        self.clients = clients
        self.clock = clock
        self.deadline = deadline
        self.onNewEvent = onNewEvent
        self.logger = logger
    }

    /// Starts the messages that are due. Called when the server starts, a message is added or resumed, or a message
    /// ends.
    func runDue() async { await dueWork.runDue() }

    /// - Returns: When to run again.
    private func runOnce() async -> Timestamp? {
        if store.isShared { await renewHolds() }
        do throws(StoreError) {
            if store.isShared { try await apps.refresh() }
            let now = clock.now()
            // Other servers add messages and change apps too.
            var next = store.isShared ? now.advanced(by: ProviderServerLimits.sharedInterval) : nil
            let open = try await store.openMessages()
            waiting = waiting.filter { id, _ in open.contains { $0.id == id } }
            delays = delays.filter { id, _ in open.contains { $0.id == id } }
            // An app that is being deleted is not found any more, and its messages are still there.
            for message in open where running[message.id] == nil && apps.app(number: message.app) != nil {
                let due = max(message.starts, waiting[message.id] ?? message.starts)
                guard due <= now else {
                    next = min(next ?? due, due)
                    continue
                }
                let busy = running.values.count { $0.app == message.app }
                guard busy < ProviderServerLimits.messagesAtOnce else { continue }
                if await !begin(message) {
                    next = min(next ?? .distant, now.advanced(by: ProviderServerLimits.storeDelay))
                }
            }
            return next
        } catch {
            logger.error("The messages to send cannot be read", metadata: ["cause": "\(error)"])
            return clock.now().advanced(by: ProviderServerLimits.storeDelay)
        }
    }

    // MARK: Sharing with other servers

    /// Takes a message, or extends the time for which this server holds it.
    /// - Returns: nil if another server holds the message, or if it is not to be sent any more.
    private func claim(_ number: Int64) async throws(StoreError) -> (hold: MessageHold, until: ContinuousClock.Instant)?
    {
        // The time counts from before the request, so this server always ends earlier than the store.
        let start = ContinuousClock.now
        let slack = ProviderServerLimits.holdSlack
        guard let hold = try await store.hold(number, for: slack + deadline + ProviderServerLimits.holdMargin) else {
            return nil
        }
        return (hold, start.advanced(by: slack))
    }

    /// Extends the time for which this server holds its messages. Another server may have stopped one, or changed its rate.
    private func renewHolds() async {
        for (id, running) in running where !running.control.isStopped {
            // It may have ended since the loop began.
            guard self.running[id]?.isEnding == false else { continue }
            do throws(StoreError) {
                guard let taken = try await claim(running.number) else {
                    logger.info("A message was stopped by another server", metadata: ["message": "\(id)"])
                    running.control.stop()
                    continue
                }
                guard running.control.extendHold(until: taken.until) else {
                    // Begin again from what is stored: the recipients in memory may have outcomes by now.
                    logger.info("A message was not held for a while", metadata: ["message": "\(id)"])
                    running.control.stop()
                    continue
                }
                running.control.rate = taken.hold.rate
            } catch {
                // Sending waits when the time has ended, and goes on when the store answers again.
                logger.warning("A message cannot be held", metadata: ["message": "\(id)", "cause": "\(error)"])
            }
        }
    }

    /// - Returns: false if the start failed and has to be tried again.
    private func begin(_ message: MessageRecord) async -> Bool {
        guard !isClosed else { return true }
        do {
            defer { delays[message.id] = nil }
            // Another server may have taken the message since it was read.
            guard let taken = try await claim(message.number) else { return true }
            let last = try await store.lastInstallation()
            var (begun, known): (MessageRecord?, Int?) = (nil, nil)
            // A request that came while the message was stored did not find it among the running ones. So read what it has
            // changed.
            while known != changes {
                known = changes
                begun = try await store.changeMessage(message.id) { message in
                    // The message may have been paused after it was read.
                    guard message.state.isOpen else { throw Stopped() }
                    message.state = .running
                    message.cause = nil
                    // Fix the last recipient now: installations that register later do not receive the message.
                    if message.position.last == nil { message.position.last = last }
                    return nil
                }
            }
            guard let begun, running[begun.id] == nil, !isClosed else { return true }
            waiting[begun.id] = nil
            let definition = try MessageDefinition(stored: begun.document)
            start(begun, definition, heldUntil: store.isShared ? taken.until : nil)
            return true
        } catch is Stopped {
            _ = try? await store.release(message.number)
            return true
        } catch {
            delays[message.id] = (error as? StoreError)?.cause ?? "\(error)"
            logger.error("A message cannot begin", metadata: ["message": "\(message.id)", "cause": "\(error)"])
            return false
        }
    }

    private struct Stopped: Error {}

    private func start(
        _ message: MessageRecord,
        _ definition: MessageDefinition,
        heldUntil: ContinuousClock.Instant?,
    ) {
        let control = RunControl(rate: message.rate, clock: clock)
        if let heldUntil { control.hold(until: heldUntil) }
        let run = MessageRun(
            message: message, definition: definition, store: store, apps: apps, clients: clients, control: control,
            clock: clock, logger: logger, onNewEvent: onNewEvent)
        logger.info("A message is being sent", metadata: ["message": "\(message.id)"])
        let task = Task {
            let end = await run.run()
            await ended(message, end)
        }
        running[message.id] = RunningMessage(app: message.app, number: message.number, control: control, task: task)
        ProviderServerMetrics.setRunning(running.count)
    }

    private func ended(_ message: MessageRecord, _ end: MessageRun.End) async {
        // Until the message is released, this server must not start it again.
        running[message.id]?.isEnding = true
        do {
            switch end {
            case .finished, .refused:
                try await keep(end, of: message)
                try await store.release(message.number)
                onNewEvent()
            case .stopped: try await store.release(message.number)
            case .waits(let due):
                waiting[message.id] = due
                try await store.release(message.number)
            }
            logger.info("A message is not sent any more", metadata: ["message": "\(message.id)", "how": "\(end)"])
        } catch {
            // After the next start the message runs again, and finds that every recipient has an outcome.
            logger.error("A message's end cannot be kept", metadata: ["message": "\(message.id)", "cause": "\(error)"])
        }
        running[message.id] = nil
        ProviderServerMetrics.setRunning(running.count)
        for waiter in waiters.values { waiter.yield() }
        await runDue()
    }

    /// Stores how a message ended, with the event for hooks.
    private func keep(_ end: MessageRun.End, of message: MessageRecord) async throws {
        let now = clock.now()
        let bundleID = apps.app(number: message.app)?.bundleID ?? ""
        _ = try await store.changeMessage(message.id) { message in
            guard message.state == .running else { return nil }
            switch end {
            case .finished:
                message.state = .finished
                message.finished = now
                message.total = message.tally.total
                message.cause = nil
            case .refused(let cause):
                message.state = .paused
                message.cause = cause
            case .stopped, .waits: return nil
            }
            return ProviderEvents.messageEnded(message, bundleID: bundleID)
        }
    }

    // MARK: What requests ask

    /// Why this server does not get on with messages, by their identifiers.
    var causes: [String: String] {
        running.compactMapValues { $0.control.cause }.merging(delays) { running, _ in running }
    }

    func cause(of id: String) -> String? { running[id]?.control.cause ?? delays[id] }

    /// Returns when a message has ended or was stopped, or after the time.
    func waitForEnd(of id: String, for time: Duration) async {
        guard waiters.count < ProviderServerLimits.waits else { return }
        let (wakes, waiter) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let key = UUID()
        waiters[key] = waiter
        let isShared = store.isShared
        let timer = Task { [clock] in
            let end = clock.now().advanced(by: time)
            while !Task.isCancelled, clock.now() < end {
                let now = clock.now().milliseconds
                let left = Duration.milliseconds(Int64(clamping: end.milliseconds - min(end.milliseconds, now)))
                // Another server may send the message, so look again and again.
                await clock.sleep(isShared ? min(left, ProviderServerLimits.waitInterval) : left)
                waiter.yield()
            }
            waiter.finish()
        }
        defer {
            timer.cancel()
            waiters[key] = nil
        }
        guard await isOpen(id) else { return }
        for await _ in wakes {
            guard await isOpen(id) else { return }
        }
    }

    /// Whether a message is scheduled or being sent. If the store fails, it is not: the answer then has what is known.
    private func isOpen(_ id: String) async -> Bool {
        (try? await store.message(id))?.state.isOpen ?? false
    }

    // MARK: Control

    /// Stops sending a message that was paused or cancelled. Waits a limited time for the answers that are under way.
    func stop(_ id: String) async { await stop { $0.key == id } }

    /// Stops sending all messages of an app, in the same way.
    func stopAll(of app: Int64) async { await stop { $0.value.app == app } }

    private func stop(_ isStopped: ((key: String, value: RunningMessage)) -> Bool) async {
        changes += 1
        let stopped = running.filter(isStopped).values
        guard !stopped.isEmpty else { return }
        for running in stopped { running.control.stop() }
        let (ends, end) = AsyncStream<Void>.makeStream()
        let waits = [
            Task {
                for running in stopped { await running.task.value }
                end.finish()
            },
            Task { [clock] in
                await clock.sleep(ProviderServerLimits.stopPatience)
                end.finish()
            },
        ]
        for await _ in ends {}
        for wait in waits { wait.cancel() }
    }

    func setRate(_ rate: Int64?, of id: String) {
        changes += 1
        running[id]?.control.rate = rate
    }

    /// Stops all messages. Answers that are still under way are recorded when they arrive.
    func close() async {
        isClosed = true
        await dueWork.close()
        for running in running.values { running.control.stop() }
    }

    /// Waits until no message is being sent.
    func finished() async {
        for task in running.values.map(\.task) { await task.value }
    }
}
