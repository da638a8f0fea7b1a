import Delivery
import Logging
import Notifications
import ProviderStore

/// Starts messages when they are due, limits how many are sent at once, and stops them.
actor CampaignDesk {
    private struct Running {
        let app: Int64
        let control: RunControl
        let task: Task<Void, Never>
    }

    private let store: any ProviderStore
    private let apps: AppDirectory
    private let clients: ProviderClients
    private let clock: ProviderClock
    private let logger: Logger
    /// Called when there is a new event for hooks.
    private let noted: @Sendable () -> Void
    private var running: [String: Running] = [:]
    private var alarm: Task<Void, Never>?
    private var isClosed = false
    private var isLooking = false
    private var isLookDue = false

    init(
        _ store: any ProviderStore,
        _ apps: AppDirectory,
        _ clients: ProviderClients,
        clock: ProviderClock,
        logger: Logger,
        noted: @escaping @Sendable () -> Void,
    ) {
        self.store = store
        self.apps = apps
        self.clients = clients
        self.clock = clock
        self.noted = noted
        self.logger = logger
    }

    /// Starts the messages that are due. Called when the server starts, a message is added or resumed, or a message
    /// ends.
    func look() async {
        isLookDue = true
        // `lookOnce()` waits for the store. If another call arrives meanwhile, the loop runs once more.
        guard !isLooking else { return }
        isLooking = true
        while isLookDue, !isClosed {
            isLookDue = false
            await lookOnce()
        }
        isLooking = false
    }

    private func lookOnce() async {
        do throws(StoreError) {
            let now = clock.now()
            var next: Timestamp?
            for message in try await store.openMessages() where running[message.id] == nil {
                guard message.starts <= now else {
                    next = min(next ?? message.starts, message.starts)
                    continue
                }
                let busy = running.values.count { $0.app == message.app }
                guard busy < ProviderServerLimits.messagesAtOnce else { continue }
                if await !begin(message) {
                    next = min(next ?? .distant, now.advanced(by: ProviderServerLimits.storeDelay))
                }
            }
            wake(at: next)
        } catch {
            logger.error("The messages to send cannot be read", metadata: ["cause": "\(error)"])
            wake(at: clock.now().advanced(by: ProviderServerLimits.storeDelay))
        }
    }

    private func wake(at moment: Timestamp?) {
        alarm?.cancel()
        guard let moment, !isClosed else { return }
        let wait = Duration.milliseconds(
            Int64(clamping: Int128(moment.milliseconds) - Int128(clock.now().milliseconds)))
        alarm = Task { [clock] in
            await clock.sleep(max(.zero, wait))
            guard !Task.isCancelled else { return }
            await look()
        }
    }

    /// - Returns: false if the start failed and has to be tried again.
    private func begin(_ message: MessageRecord) async -> Bool {
        guard !isClosed else { return true }
        do {
            let last = try await store.lastInstallation()
            let begun = try await store.changeMessage(message.id) { message in
                // The message may have been paused after it was read.
                guard message.state == .scheduled || message.state == .running else { throw Stopped() }
                message.state = .running
                message.cause = nil
                // Fix the last recipient now: installations that register later do not receive the message.
                if message.position.last == nil { message.position.last = last }
                return nil
            }
            guard let begun, running[begun.id] == nil, !isClosed else { return true }
            let document = try MessageDocument(stored: begun.document)
            start(begun, document)
            return true
        } catch is Stopped {
            return true
        } catch {
            logger.error("A message cannot begin", metadata: ["message": "\(message.id)", "cause": "\(error)"])
            return false
        }
    }

    private struct Stopped: Error {}

    private func start(_ message: MessageRecord, _ document: MessageDocument) {
        let control = RunControl(rate: message.rate, clock: clock)
        let run = MessageRun(
            message: message, document: document, store: store, apps: apps, clients: clients, control: control,
            clock: clock, noted: noted)
        logger.info("A message is being sent", metadata: ["message": "\(message.id)"])
        let task = Task {
            let end = await run.run()
            await ended(message, end)
        }
        running[message.id] = Running(app: message.app, control: control, task: task)
        ProviderServerMetrics.setRunning(running.count)
    }

    private func ended(_ message: MessageRecord, _ end: MessageRun.End) async {
        running[message.id] = nil
        ProviderServerMetrics.setRunning(running.count)
        do {
            let now = clock.now()
            let bundleID = apps.app(number: message.app)?.bundleID ?? ""
            _ = try await store.changeMessage(message.id) { message in
                guard message.state == .running else { return nil }
                switch end {
                case .finished:
                    message.state = .finished
                    message.finished = now
                case .refused(let cause):
                    message.state = .paused
                    message.cause = cause
                case .stopped: return nil
                }
                return ProviderEvents.messageEnded(message, bundleID: bundleID)
            }
            logger.info("A message has ended", metadata: ["message": "\(message.id)", "how": "\(end)"])
            if end != .stopped { noted() }
        } catch {
            // After the next start the message runs again, and finds that every recipient has an outcome.
            logger.error("A message's end cannot be kept", metadata: ["message": "\(message.id)", "cause": "\(error)"])
        }
        await look()
    }

    // MARK: Control

    /// Stops sending a message that was paused or cancelled. Waits a limited time for the answers that are under way.
    func stop(_ id: String) async {
        guard let running = running[id] else { return }
        running.control.stop()
        let (ends, end) = AsyncStream<Void>.makeStream()
        let waits = [
            Task {
                await running.task.value
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

    func setRate(_ rate: Int64?, of id: String) { running[id]?.control.rate = rate }

    /// Stops all messages. Answers that are still under way are recorded when they arrive.
    func close() {
        isClosed = true
        alarm?.cancel()
        for running in running.values { running.control.stop() }
    }

    /// Waits until no message is being sent.
    func finished() async {
        for task in running.values.map(\.task) { await task.value }
    }
}
