import APNSDevice
import Connections
import Logging
import NIOCore
import Storage
import Synchronization

/// Wakes apps that hold no stream: runs their commands, and starts their units. Each app has at most one task that wakes
/// it, and only some commands of all apps run at the same time.
actor Waker {
    private let agent: Agent
    private let delay = GrowingDelay(first: AgentLimits.waking.first, longest: AgentLimits.waking.longest)
    /// The task of each app that is being woken.
    private var tasks: [String: Task<Void, Never>] = [:]
    /// The apps that got another event while they were being woken.
    private var again: Set<String> = []
    private var running = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var isClosed = false

    init(_ agent: Agent) { self.agent = agent }

    /// Wakes an app, unless it is being woken already.
    func wake(_ manifest: Manifest) {
        guard !isClosed else { return }
        guard tasks[manifest.bundleID] == nil else {
            again.insert(manifest.bundleID)
            return
        }
        tasks[manifest.bundleID] = Task {
            if manifest.exec.isEmpty { await activate(manifest) } else { await runCommands(manifest) }
            await ended(manifest.bundleID)
        }
    }

    private func ended(_ bundleID: String) async {
        tasks[bundleID] = nil
        // Ask the agent, because the manifest may be another one by now.
        if again.remove(bundleID) != nil { await agent.wakeIfNeeded(bundleID) }
    }

    /// Ends all commands.
    func close() async {
        isClosed = true
        let all = Array(tasks.values)
        for task in all { task.cancel() }
        for continuation in waiting { continuation.resume() }
        waiting = []
        for task in all { await task.value }
    }

    // MARK: Commands

    /// Runs the command for each event, the oldest first, until there is none left or the app holds a stream.
    private func runCommands(_ manifest: Manifest) async {
        var failures = 0
        while !Task.isCancelled, await agent.mayRun(manifest) {
            again.remove(manifest.bundleID)
            await waitForPlace()
            // The app may have handled events itself, while commands of others had all places.
            guard await agent.mayRun(manifest), let event = nextEvent(manifest.bundleID) else {
                return freePlace()
            }
            let isHandled = await run(manifest, event)
            freePlace()
            guard !Task.isCancelled else { return }
            if isHandled {
                failures = 0
                // While the queue cannot be changed, the command would get the same event again.
                var attempts = 0
                while !Task.isCancelled, await !agent.commandHandled(event, of: manifest.bundleID) {
                    attempts += 1
                    await pause(attempts)
                }
            } else {
                failures += 1
                await agent.commandFailed(event, of: manifest.bundleID)
                await pause(failures)
            }
        }
    }

    private func nextEvent(_ bundleID: String) -> QueuedEvent? {
        // If the database cannot be read, the next event or start tries again.
        (try? agent.store.eventToTry(of: bundleID)) ?? nil
    }

    @concurrent nonisolated private func run(_ manifest: Manifest, _ event: QueuedEvent) async -> Bool {
        guard !Task.isCancelled else { return false }
        let bundleID = manifest.bundleID
        let socket = await agent.socket(of: bundleID)
        let output = try? await PrintedOutput.open(limit: AgentLimits.printedBytes) { [agent] in
            agent.logger.warning(
                "An app's command prints too much; the rest is not in this journal",
                metadata: ["app": "\(bundleID)", "limit": "\(AgentLimits.printedBytes)"])
        }
        let end = await Program.run(
            agent.settings.confined(manifest.exec),
            environment: EventVariables.of(event, bundleID: bundleID, socket: socket),
            input: EventVariables.payload(of: event), limit: .seconds(AgentLimits.backgroundSeconds),
            output: output, processes: agent.processes, of: bundleID)
        guard !end.isSuccess, !Task.isCancelled else { return end.isSuccess }
        agent.logger.warning(
            "An app's command did not handle a notification",
            metadata: ["app": "\(manifest.bundleID)", "delivery": "\(event.delivery)", "cause": "\(end)"])
        return false
    }

    private func waitForPlace() async {
        guard running >= AgentLimits.programs, !isClosed else {
            running += 1
            return
        }
        // Whoever frees a place gives it to the first that waits.
        await withCheckedContinuation { waiting.append($0) }
    }

    private func freePlace() {
        guard !isClosed, !waiting.isEmpty else {
            running -= 1
            return
        }
        waiting.removeFirst().resume()
    }

    // MARK: Units and D-Bus names

    /// Starts the app, and again after growing delays until it holds a stream or has nothing to handle.
    private func activate(_ manifest: Manifest) async {
        for failures in 1...AgentLimits.attempts {
            guard !Task.isCancelled, await agent.mayRun(manifest), nextEvent(manifest.bundleID) != nil else {
                return
            }
            let command = Activation.command(for: manifest, isSystem: Activation.isSystem)
            let end = await Program.run(
                command, environment: Activation.environment, input: [], limit: .seconds(AgentLimits.backgroundSeconds),
                output: nil, processes: agent.processes, of: nil)
            if !end.isSuccess {
                agent.logger.warning(
                    "An app could not be started",
                    metadata: ["app": "\(manifest.bundleID)", "command": "\(command)", "cause": "\(end)"])
            }
            await pause(failures)
        }
    }

    private func pause(_ failures: Int) async {
        let wait = delay.delay(afterFailures: failures, random: .random(in: 0...1))
        // It is cancelled at the end of the agent.
        try? await Task.sleep(for: .nanoseconds(wait.nanoseconds))
    }
}

extension Agent {
    /// Whether an app is still to be woken.
    func mayRun(_ manifest: Manifest) -> Bool {
        !isEnding && streams[manifest.bundleID]?.isEmpty != false && state.life(of: manifest.bundleID) != .forceQuit
            && manifests[manifest.bundleID] == manifest
    }

    /// The socket for the command of an app, at which it is that app and no other. If it cannot be opened, the command has none.
    nonisolated func socket(of bundleID: String) async -> String? {
        await appSockets.withLock(\.self)?(bundleID)
    }

    /// - Returns: false if the event is still in the queue.
    func commandHandled(_ event: QueuedEvent, of bundleID: String) -> Bool {
        do {
            _ = try handled([event.delivery], of: bundleID)
            return true
        } catch {
            logger.error("A handled event stays in the queue", metadata: ["cause": "\(error.cause)"])
            return false
        }
    }

    func commandFailed(_ event: QueuedEvent, of bundleID: String) {
        do {
            try store.countAttempt(event.delivery)
        } catch {
            logger.error("An attempt cannot be counted", metadata: ["cause": "\(error.cause)"])
        }
        // fits: counted one by one, to AgentLimits.attempts
        guard event.attempts + 1 >= AgentLimits.attempts else { return }
        logger.error(
            "An app's command failed too often for one notification; it waits for a stream of the app",
            metadata: ["app": "\(bundleID)", "delivery": "\(event.delivery)"])
    }
}
