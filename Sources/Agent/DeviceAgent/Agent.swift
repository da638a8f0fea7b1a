package import APNSDevice
import Connections
import Foundation
package import Logging
import NIOCore
import PrivateFiles
import Rates
import Storage
import Synchronization

/// What the operating system is in the documents of APNs: it has the one connection of the device, hands each
/// notification to its app, keeps it until the app has handled it, and wakes the app.
///
/// `SystemState` decides what becomes of a notification. The agent stores what the decision means for the app, and then
/// carries it out.
package actor Agent {
    nonisolated let settings: AgentSettings
    nonisolated let store: AgentStore
    nonisolated let logger: Logger
    nonisolated let connection = ConnectionStatus()
    private nonisolated let relief = Mutex(IdleRelief())
    /// The commands that run, by which a process at a socket is recognised.
    nonisolated let processes: CommandProcesses
    /// Opens the socket of an app; nil before the agent listens.
    nonisolated let appSockets = Mutex<(@Sendable (String) async -> String?)?>(nil)
    private nonisolated let currentIdentity: Mutex<DeviceIdentity?>
    /// The device's identity; nil while the service refuses the code of the first activation. Another one takes its place if the
    /// service refuses it and there is another activation code.
    package nonisolated var identity: DeviceIdentity? { currentIdentity.withLock(\.self) }
    /// The refusal of the first activation code, until there is an identity.
    private(set) var refusedCode: AgentIdentity.RefusedCode?
    /// The user that the agent runs as. It may change the settings, as root may.
    nonisolated let agentUser: UInt32
    /// Held until the agent is closed.
    private var lock: FolderLock?

    var state: SystemState
    var records: [String: AppRecord]
    var manifests: [String: Manifest] = [:]
    var refusedManifests: [ManifestFolder.Refused] = []
    /// The open streams of each app.
    var streams: [String: [UInt64: StreamEntry]] = [:]
    var lastStream: UInt64 = 0
    /// The apps that have said that they are in the foreground, and hold no stream yet.
    var comingForward: Set<String> = []
    var isEnding = false
    /// Whether the device was closed, so that nothing can be acknowledged any more.
    private var isClosed = false
    /// Why the agent cannot go on; nil if it can.
    private var failure: AgentError?
    /// The wait for another identity, after the service has refused this one.
    private var waitingForIdentity: Task<DeviceIdentity?, Never>?
    /// Whether the user does not want to be disturbed.
    var isQuiet: Bool
    /// The notifications that reached neither their app nor the user, by reason, since the start.
    var dropped: [DropReason: Int] = [:]
    /// The apps that were started after the user had ended them, and of which the disk does not know that yet.
    var launched: Set<String> = []
    /// The apps whose queue is full. Their oldest events are removed.
    var overflowing: Set<String> = []
    private var manifestReadings = RateBucket()
    /// The requests of each user who is no app.
    var strangers: [UInt32: RateBucket] = [:]
    /// How often each app subscribes to Web Push.
    var subscriptionRates = RateTable<String>(AgentLimits.subscriptions)
    var registrationRates = RateTable<String>(AgentLimits.registrations)
    /// The apps that register and have no answer yet, each with the number of these registrations.
    var registering: [String: Int] = [:]
    /// The apps about which the service is being asked, each with those that wait until that is over.
    var asking: [String: [(name: UInt64, continuation: CheckedContinuation<Bool, Never>)]] = [:]
    /// The name of the last task that had to wait for a turn.
    var lastTurn: UInt64 = 0
    var device: Device?
    var waker: Waker?
    var desktop: (any Desktop)?
    /// The distributor of UnifiedPush; nil if the agent is none.
    var distributor: Distributor?
    /// What is to be shown on the desktop. A desktop that hangs must not delay acknowledgements.
    let screen = AsyncStream.makeStream(
        of: ScreenChange.self, bufferingPolicy: .bufferingNewest(AgentLimits.waitingAlerts))

    /// Opens the agent's folder.
    /// - Throws: ``AgentError`` with what to do.
    package static func open(_ settings: AgentSettings, logger: Logger) async throws -> Agent {
        do {
            try makeFolder(settings.folder)
            let lock = try FolderLock(settings.folder, file: "agent.lock", of: "agent")
            let store = try AgentStore(folder: settings.folder)
            if let place = store.damaged {
                logger.error(
                    "The database was damaged; the agent begins with an empty one, and apps register again",
                    metadata: ["damaged": "\(place)"])
            }
            // Before an activation code is used up: without its socket the agent could not go on.
            try await prepareSocket(settings)
            let identity = try await AgentIdentity.load(settings, logger)
            return Agent(
                settings, store, lock, identity, records: try store.records(), badges: try store.badges(),
                isQuiet: try store.setting(Self.quietSetting) == "on", logger)
        } catch let error as StoreError {
            throw AgentError(error)
        } catch let error as DeviceError {
            throw AgentError(.state, error.cause)
        }
    }

    static let quietSetting = "do-not-disturb"

    private static func makeFolder(_ path: String) throws(StoreError) {
        if try !Files.exists(path) { try Files.makeFolder(path) }
    }

    /// Makes the folder of the socket if it is missing, as a unit does with RuntimeDirectory=. Others may enter it.
    private static func prepareSocket(_ settings: AgentSettings) async throws(AgentError) {
        let folder = (settings.socket as NSString).deletingLastPathComponent
        if mkdir(folder, 0o755) == 0 { chmod(folder, 0o755) }
        guard access(folder, W_OK | X_OK) == 0 else {
            throw AgentError(
                .socket,
                "The folder of the socket, \(folder), cannot be used (\(String(cString: strerror(errno)))): make it, and give it to the "
                    + "agent's user.")
        }
        do {
            try await SocketFile.prepare(settings.socket, user: geteuid())
        } catch {
            throw AgentError(.socket, error.cause)
        }
    }

    private init(
        _ settings: AgentSettings,
        _ store: AgentStore,
        _ lock: FolderLock,
        _ identity: Result<DeviceIdentity, AgentIdentity.RefusedCode>,
        records: [String: AppRecord],
        badges: [String: Int],
        isQuiet: Bool,
        _ logger: Logger,
    ) {
        (self.settings, self.store, self.lock) = (settings, store, lock)
        currentIdentity = Mutex(try? identity.get())
        if case .failure(let refused) = identity { refusedCode = refused }
        (self.records, self.isQuiet, self.logger) = (records, isQuiet, logger)
        agentUser = UInt32(geteuid())  // fits: uid_t has 32 bits
        processes = CommandProcesses(isActive: settings.confinesCommands, folder: settings.folder)
        var state = SystemState(languages: settings.languages)
        for (bundleID, record) in records { Self.addApp(bundleID, record, to: &state) }
        for (bundleID, badge) in badges where records[bundleID]?.currentSettings.badges == true {
            state.centre.setBadge(badge, of: bundleID)
        }
        self.state = state
    }

    /// Adds an app that has registered to the state of the device.
    static func addApp(_ bundleID: String, _ record: AppRecord, to state: inout SystemState) {
        state.install(bundleID, record.localizations, wasLaunched: true)
        state.register(record.registration.categories ?? [], of: bundleID)
        state.change(record.currentSettings, of: bundleID)
        if record.isForceQuit { state.forceQuit(bundleID) }
    }

    // MARK: Running

    /// Reads the manifests. Call this before the socket is opened.
    package func prepare() { readManifests() }

    /// Answers if the agent's work goes on, for systemd's watchdog.
    package var isAlive: Bool { !isEnding }

    /// Connects and stays connected, until the task is cancelled or ``close()`` is called.
    /// - Parameter whenReady: called when apps of the desktop can register, or the session bus cannot be used now.
    /// - Throws: an error that another attempt cannot solve: the identity was revoked, or another connection of the
    ///   same device is in use.
    package func run(whenReady: () -> Void = {}) async throws {
        guard !isEnding else { return }
        var device = try identity.map { try makeDevice($0) }
        waker = Waker(self)
        if let address = settings.desktopBus {
            desktop = DesktopNotifications(address: address, languages: settings.languages, logger: logger) {
                [weak self] id, response in
                await self?.respondOnDesktop(to: id, response)
            }
        }
        if let app = settings.unifiedPush, let address = settings.unifiedPushBus {
            do {
                distributor = try Distributor(
                    address: address, user: agentUser, store: store,
                    service: AgentSubscriptions(bundleID: app) { [weak self] in await self?.device }, logger: logger)
            } catch {
                throw AgentError(error)
            }
        }
        wasActive()
        // Both go on until this function ends.
        async let _: Void = MachineChanges.watch { [weak self] change in
            Task { await self?.report(change) }
        }
        async let _: Void = reportPower()
        async let refreshed: Void = refreshWhenConnected()
        async let shown: Void = showOnDesktop()
        async let distributed: Void = distribute()
        await distributor?.tried()
        if !isEnding { whenReady() }
        for bundleID in records.keys { await wakeIfNeeded(bundleID) }
        var result: Result<Void, DeviceError> = .success(())
        while !isEnding {
            if let device {
                do {
                    result = .success(try await device.run())
                } catch {
                    result = .failure(error)
                }
                guard case .failure(let error) = result, error.code == .identityRefused, !isEnding else { break }
                logger.error(
                    "The service refuses the device's identity; the agent does not connect before it has another activation code",
                    metadata: ["cause": "\(error.cause)", "device": "\(self.identity?.deviceID ?? "")"])
            } else if let refusedCode {
                connection.change(to: .ended(DeviceError(.identityRefused, refusedCode.error.cause)))
                logger.error(
                    "The service refuses the activation code; the agent does not connect before it has another one",
                    metadata: ["cause": "\(refusedCode.error.cause)"])
            }
            result = .success(())
            // Without an identity there is no connection, but apps get what is on the disk and learn why.
            guard let identity = await anotherIdentity() else { break }
            currentIdentity.withLock { $0 = identity }
            refusedCode = nil
            device = try makeDevice(identity)
        }
        connection.finish()
        screen.continuation.finish()
        await distributor?.close()
        _ = await (refreshed, shown, distributed)
        if let failure { throw failure }
        if case .failure(let error) = result { throw AgentError(.unavailable, error.cause) }
    }

    private func makeDevice(_ identity: DeviceIdentity) throws(DeviceError) -> Device {
        var configuration = Device.Configuration()
        configuration.received = QueuedIdentifiers(store: store)
        if settings.unifiedPush != nil { configuration.readPower = { MachinePower.read() } }
        configuration.software = settings.version.isEmpty ? nil : "carillon-agent " + settings.version
        let made = try Device(
            identity, at: settings.courier, delegate: AgentDelegate(agent: self), configuration: configuration)
        device = made
        return made
    }

    /// Waits until the device has another identity, because the service refuses this one for ever: it was revoked, has expired or is
    /// of the other environment (docs/device-protocol.md), or the first activation code was wrong. Trying again would not help, and
    /// would be a load for the service.
    /// - Returns: nil if the agent ends before.
    private func anotherIdentity() async -> DeviceIdentity? {
        let waiting = Task { [settings, logger, refusedCode] () -> DeviceIdentity? in
            var tried = refusedCode?.code
            while !Task.isCancelled {
                // A file that is missing or cannot be read has no code yet.
                if let code = try? AgentIdentity.otherCode(settings), code != tried {
                    tried = code
                    do {
                        return try await AgentIdentity.activate(settings, with: code, logger)
                    } catch {
                        guard !Task.isCancelled else { return nil }
                        logger.error("The device has no new identity", metadata: ["cause": "\(error)"])
                    }
                }
                // It is cancelled at the end of the agent.
                try? await Task.sleep(for: AgentLimits.codeReading)
            }
            return nil
        }
        waitingForIdentity = waiting
        defer { waitingForIdentity = nil }
        return await withTaskCancellationHandler {
            await waiting.value
        } onCancel: {
            waiting.cancel()
        }
    }

    /// Notes that the agent does something. When it is idle again, it gives memory back.
    nonisolated func wasActive() {
        guard relief.withLock({ $0.wasActive(at: .now()) }) else { return }
        Task { [weak self] in
            while let wait = self?.relief.withLock({ $0.wait(at: .now()) }) {
                try? await Task.sleep(for: .nanoseconds(wait.nanoseconds))
            }
            IdleRelief.release()
        }
    }

    private func report(_ change: MachineChange) {
        switch change {
        case .addressAdded:
            logger.debug("An address was added to a network interface")
            device?.networkIsBack()
        case .resumed(let time):
            logger.info(
                "The machine was suspended; the connection is checked",
                metadata: ["seconds": "\(time.components.seconds)"])
            device?.networkIsBack()
        case .clockSet:
            // No delay depends on this clock. A device that waits because certificates were not valid tries again soon.
            logger.debug("The machine's clock was set")
        }
    }

    private func showOnDesktop() async {
        for bundleID in records.keys.sorted() where state.centre.badge(of: bundleID) > 0 {
            await showBadge(of: bundleID)
        }
        for await change in screen.stream {
            switch change {
            case .alert(let shown):
                // The app or the user may have removed it meanwhile.
                guard state.centre.notifications.contains(where: { $0.id == shown.id }) else { continue }
                await desktop?.show(shown, of: DesktopApp(shown.bundleID, manifests[shown.bundleID]))
            case .badge(let bundleID): await showBadge(of: bundleID)
            }
        }
    }

    /// Changes the state of an app, and the desktop's badge if the app's badge changes with it.
    func changeState(of bundleID: String, _ change: (inout SystemState) -> Void) {
        let badge = state.centre.badge(of: bundleID)
        change(&state)
        guard desktop != nil, state.centre.badge(of: bundleID) != badge else { return }
        screen.continuation.yield(.badge(bundleID))
    }

    /// Shows the newest badge of an app.
    private func showBadge(of bundleID: String) async {
        await desktop?.setBadge(state.centre.badge(of: bundleID), of: DesktopApp(bundleID, manifests[bundleID]))
    }

    /// Closes the connection after what is stored was acknowledged, and ends all streams.
    package func close() async {
        isEnding = true
        waitingForIdentity?.cancel()
        for entry in streams.values.flatMap(\.values) { entry.wakeUps.finish() }
        await waker?.close()
        await desktop?.close()
        await distributor?.close()
        await device?.close()
        isClosed = true
        // The waker, the device and the desktop refer to this agent.
        (waker, device, desktop, distributor) = (nil, nil, nil, nil)
        lock = nil
    }

    /// Closes the database. Call this at the end, when no app asks the agent any more.
    package nonisolated func closeStore() { store.close() }

    /// Reads the manifests again, because somebody may have changed them. Any process can cause this, so it is limited.
    func readManifestsAgain(now: NIODeadline = .now()) {
        if manifestReadings.admits(AgentLimits.manifestReadings, at: now.uptimeNanoseconds) { readManifests() }
    }

    private func readManifests() {
        var contents = ManifestFolder(path: settings.manifests, agentUser: agentUser).read()
        // Otherwise all apps would lose their streams because too many files were open for a moment.
        if contents.isUnread { contents.manifests = manifests }
        let changed = contents.manifests.filter { manifests[$0.key] != $0.value }.keys
        manifests = contents.manifests
        endStreamsOfOthers()
        // An administrator may have corrected the command of an app for which events wait.
        if waker != nil, !changed.isEmpty { Task { for bundleID in changed { await wakeIfNeeded(bundleID) } } }
        // Say it once, and again if it changes.
        for refused in contents.refused where !refusedManifests.contains(refused) {
            logger.warning(
                "A manifest is not used", metadata: ["file": "\(refused.file)", "cause": "\(refused.cause)"])
        }
        refusedManifests = contents.refused
    }

    /// Registers the apps again at each start, and tells the service of removed ones: the service may have been reset.
    private func refreshWhenConnected() async {
        for await _ in connection.connects {
            await unregisterRemovedApps()
            for bundleID in records.keys.sorted() { await refresh(bundleID) }
            await distributor?.reconcile()
        }
    }

    private func distribute() async { await distributor?.run() }

    /// Tells the service when the machine's power changes, for as long as the task runs. It is told on each connection as well.
    private func reportPower() async {
        guard settings.unifiedPush != nil, var last = MachinePower.read() else { return }
        while (try? await Task.sleep(for: AgentLimits.powerReading)) != nil {
            guard let power = MachinePower.read(), power != last, let device else { continue }
            // If it fails, the next reading tries it again.
            if (try? await device.report(power)) != nil { last = power }
        }
    }

    // MARK: Notifications

    /// Receives a notification: when this returns, what it means for the app is on the disk.
    func receive(_ notification: ReceivedNotification) async {
        wasActive()
        // The app of the distributor has no code of its own: its messages are those of the desktop's apps.
        let message = notification.bundleID == settings.unifiedPush ? notification.webPush : nil
        let outcome = message == nil ? outcome(of: notification) : Outcome()
        let delay = GrowingDelay(first: AgentLimits.storing.first, longest: AgentLimits.storing.longest)
        var failures = 0
        // The notification is acknowledged after this function, so it must not return before it is stored.
        while !isClosed {
            do throws(StoreError) {
                if let message {
                    let removed = try store.add(message, id: notification.id)
                    logRemovedEvents(removed, of: message.subscription)
                } else {
                    let removed = try store.add(
                        outcome.events.map(\.text), of: notification.bundleID, from: notification.id,
                        badge: outcome.badge)
                    logRemovedEvents(removed, of: notification.bundleID)
                }
                break
            } catch {
                guard error.code != .unreadable else { return await endDamaged() }
                failures += 1
                if failures == 1 {
                    logger.error(
                        "A notification cannot be stored; it is not acknowledged until it is",
                        metadata: ["cause": "\(error.cause)"])
                }
                let wait = delay.delay(afterFailures: failures, random: .random(in: 0...1))
                // The process ends if this is cancelled, and the service sends the notification again.
                try? await Task.sleep(for: .nanoseconds(wait.nanoseconds))
            }
        }
        if let message {
            await distributor?.arrived(message.subscription)
            return
        }
        keepLaunch(of: notification.bundleID)
        if !outcome.events.isEmpty { await announce(to: notification.bundleID) }
        guard desktop != nil else { return }
        if let shown = outcome.shown { screen.continuation.yield(.alert(shown)) }
        if outcome.badge != nil { screen.continuation.yield(.badge(notification.bundleID)) }
    }

    /// Ends the agent because its database is damaged: the next start puts it aside. Returns when nothing can be
    /// acknowledged any more.
    private func endDamaged() async {
        failure = AgentError(
            .state,
            "The database in \(settings.folder) is damaged. The next start puts it aside, and apps register again.")
        isEnding = true
        let device = device
        // Closing waits for this notification for some seconds.
        await device?.close()
    }

    private func logRemovedEvents(_ removed: Int, of bundleID: String) {
        guard removed > 0, overflowing.insert(bundleID).inserted else { return }
        logger.warning(
            "An app does not handle its events; its oldest ones are removed",
            metadata: ["app": "\(bundleID)", "limit": "\(AgentLimits.queuedEvents)"])
    }

    /// Passes new events to an app: through its streams, or by waking it.
    func announce(to bundleID: String) async {
        if let open = streams[bundleID], !open.isEmpty {
            for entry in open.values { entry.wakeUps.yield() }
        } else {
            await wakeIfNeeded(bundleID)
        }
    }

    func wakeIfNeeded(_ bundleID: String) async {
        guard !isEnding, let manifest = manifests[bundleID], manifest.canBeWoken, streams[bundleID]?.isEmpty != false,
            state.life(of: bundleID) != .forceQuit
        else { return }
        await waker?.wake(manifest)
    }
}
