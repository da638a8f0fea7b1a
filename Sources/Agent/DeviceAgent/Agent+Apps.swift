import APNSDevice
import Logging
import NIOCore
import Notifications
import Rates
import Storage
import Synchronization

// What apps do: they register, handle events, say in which state they are, and leave.
extension Agent {
    /// The manifest of an app that the caller may be.
    /// - Throws: ``AgentError/Code/notAllowed``. It does not say whether there is such an app.
    func manifest(of bundleID: String, for peer: LocalPeer) throws(AgentError) -> Manifest {
        if let manifest = manifests[bundleID], manifest.admits(peer) { return manifest }
        // A package may have been installed meanwhile.
        readManifestsAgain()
        if let manifest = manifests[bundleID], manifest.admits(peer) { return manifest }
        if case .only(let app) = peer.reach, app != bundleID {
            throw AgentError(.notAllowed, "This process belongs to a command of \(app), and is that app alone.")
        }
        throw AgentError(
            .notAllowed,
            "No manifest in \(settings.manifests) lets the user \(peer.user) be the app \(bundleID). "
                + "The agent's journal names the manifests that it does not use.")
    }

    /// Whether the caller may change settings and see all apps. The command of an app may not, although it runs as the agent's user.
    nonisolated func isAdministrator(_ peer: LocalPeer) -> Bool {
        peer.reach == .all && (peer.user == 0 || peer.user == agentUser)
    }

    /// Delays a request of a user who is no app here, if that user has sent many. Others do not wait for them then: all requests are
    /// answered one after the other.
    func pace(_ peer: LocalPeer) async {
        let wait = wait(of: peer, now: .now())
        guard wait > .zero else { return }
        // Each connection waits with one request, and a user has few connections, so the wait is some seconds at most.
        try? await Task.sleep(for: wait)
    }

    /// How long the next request of a process has to wait. It counts the request.
    func wait(of peer: LocalPeer, now: NIODeadline) -> Duration {
        let isApp = manifests.values.contains { $0.admits(peer) }
        guard !isApp, !isAdministrator(peer) else { return .zero }
        let moment = now.uptimeNanoseconds
        if strangers.count >= AgentLimits.strangers { strangers = strangers.filter { !$0.value.isEmpty(at: moment) } }
        let turn = strangers[peer.user, default: RateBucket()].opens(AgentLimits.strangerRequests)
        strangers[peer.user, default: RateBucket()].charge(AgentLimits.strangerRequests, events: 1, at: moment)
        return turn > moment ? .nanoseconds(Int64(clamping: turn - moment)) : .zero
    }

    /// Registers an app: this is its launch.
    /// - Returns: its device tokens.
    func register(
        _ bundleID: String,
        _ registration: AppRegistration,
        now: NIODeadline = .now(),
    ) async throws(AgentError) -> AppRecord {
        guard registrationRates.admits(bundleID, at: now.uptimeNanoseconds) else {
            throw AgentError(.tooMany, "The app registers too often; it has to register at its start.")
        }
        // The later one of two registrations counts, so it waits for an earlier one that may still change the record.
        if registering[bundleID] == nil, let record = try registerAsBefore(bundleID, registration) { return record }
        registering[bundleID, default: 0] += 1
        defer {
            registering[bundleID, default: 1] -= 1
            if registering[bundleID] == 0 { registering[bundleID] = nil }
        }
        let answer = await TimeLimit.run(AgentLimits.registering, ContinuousClock()) {
            () -> Result<AppRecord, AgentError> in
            do throws(AgentError) {
                return .success(try await self.registerInTurn(bundleID, registration))
            } catch {
                return .failure(error)
            }
        }
        guard let answer else { throw Self.notReached }
        return try answer.get()
    }

    private static let notReached = AgentError(.unavailable, "The service cannot be reached now: try again.")

    /// Registers an app if there is nothing new for the service: so it starts at once, also without a network.
    /// - Returns: nil if the service has to be asked.
    private func registerAsBefore(
        _ bundleID: String,
        _ registration: AppRegistration,
    ) throws(AgentError) -> AppRecord? {
        let wanted = Set(registration.services ?? [])
        guard var record = records[bundleID], wanted.isSubset(of: record.services.keys),
            record.registration.channels == registration.channels
        else { return nil }
        record.services = record.services.filter { wanted.contains($0.key) }
        return try keep(record, of: bundleID, registration)
    }

    /// Registers an app at the service when it is asked nothing else about the app.
    func registerInTurn(
        _ bundleID: String,
        _ registration: AppRegistration,
    ) async throws(AgentError) -> AppRecord {
        let isUpdate = records[bundleID] != nil
        guard await takeTurn(of: bundleID) else { throw Self.notReached }
        defer { endTurn(of: bundleID) }
        try checkGoesOn(bundleID, isUpdate: isUpdate)
        // A registration with an earlier turn may have asked for the same.
        if let record = try registerAsBefore(bundleID, registration) { return record }
        var record = try await askForTokens(bundleID, registration)
        try checkGoesOn(bundleID, isUpdate: isUpdate)
        // Read these here, because the user may change them while the service is asked.
        record.settings = records[bundleID]?.settings
        return try keep(record, of: bundleID, registration)
    }

    /// - Parameter isUpdate: whether the app was registered when it began to register.
    /// - Throws: ``AgentError`` if the registration must not be stored.
    private func checkGoesOn(_ bundleID: String, isUpdate: Bool) throws(AgentError) {
        // After the time limit, the app has been told that it is not registered.
        guard !Task.isCancelled else { throw Self.notReached }
        // The removal has a later turn, and then tells the service.
        guard !isUpdate || records[bundleID] != nil else {
            throw AgentError(.refused, "The app was removed while it registered.")
        }
    }

    /// Stores an app that registers.
    private func keep(
        _ tokens: AppRecord,
        of bundleID: String,
        _ registration: AppRegistration,
    ) throws(AgentError) -> AppRecord {
        var record = tokens
        record.registration = registration
        record.isForceQuit = false
        // An app that registers as before also starts on a full disk.
        if record != records[bundleID] { try Self.storing(store.keep(record, of: bundleID)) }
        records[bundleID] = record
        comingForward.remove(bundleID)
        changeState(of: bundleID) { Self.addApp(bundleID, record, to: &$0) }
        return record
    }

    private func askForTokens(
        _ bundleID: String,
        _ registration: AppRegistration,
    ) async throws(AgentError) -> AppRecord {
        guard let device else {
            if let refusedCode { throw AgentError(.refused, refusedCode.error.cause) }
            throw AgentError(.unavailable, "The agent is starting: try again.")
        }
        let earlier = records[bundleID]?.registration.channels ?? []
        let channels = registration.channels ?? []
        do throws(DeviceError) {
            var record = AppRecord(
                registration: registration, token: try await device.register(bundleID), services: [:])
            for service in (registration.services ?? []).compactMap(PushService.init(rawValue:)) {
                record.services[service.rawValue] = try await device.register(bundleID, for: service)
            }
            // After the time limit nothing is stored, so do not change the service either.
            for channel in channels where !earlier.contains(channel) && !Task.isCancelled {
                try await device.subscribe(bundleID, to: channel)
            }
            for channel in earlier where !channels.contains(channel) && !Task.isCancelled {
                try await device.unsubscribe(bundleID, from: channel)
            }
            return record
        } catch {
            throw AgentError(error.isTemporary ? .unavailable : .refused, error.cause)
        }
    }

    /// Waits until the service is asked nothing else about an app: answers in another order than that of the requests
    /// would leave other tokens and channels here than there. Call ``endTurn(of:)`` afterwards.
    /// - Returns: false if the task was cancelled before its turn. It then has none to end.
    func takeTurn(of bundleID: String) async -> Bool {
        guard asking[bundleID] != nil else {
            asking[bundleID] = []
            return true
        }
        lastTurn += 1
        let name = lastTurn
        // Without a network a turn does not end, so a task that is cancelled must not wait for it.
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(returning: false) }
                asking[bundleID]?.append((name, continuation))
            }
        } onCancel: {
            Task { await self.giveUpTurn(name, of: bundleID) }
        }
    }

    private func giveUpTurn(_ name: UInt64, of bundleID: String) {
        guard let index = asking[bundleID]?.firstIndex(where: { $0.name == name }) else { return }
        asking[bundleID]?.remove(at: index).continuation.resume(returning: false)
    }

    /// Gives the turn to the first that waits.
    func endTurn(of bundleID: String) {
        guard asking[bundleID]?.isEmpty == false else {
            asking[bundleID] = nil
            return
        }
        asking[bundleID]?.removeFirst().continuation.resume(returning: true)
    }

    /// Registers an app again. If a device token has changed, the app is told.
    func refresh(_ bundleID: String) async {
        guard await takeTurn(of: bundleID) else { return }
        defer { endTurn(of: bundleID) }
        guard let old = records[bundleID], let device else { return }
        do throws(DeviceError) {
            let token = try await device.register(bundleID)
            var services: [PushService: String] = [:]
            for service in old.services.keys.compactMap(PushService.init(rawValue:)) {
                services[service] = try await device.register(bundleID, for: service)
            }
            guard token != old.token || services.contains(where: { old.services[$0.key.rawValue] != $0.value }) else {
                return
            }
            // A device whose tokens changed was reset, so its subscriptions have ended as well.
            for channel in old.registration.channels ?? [] { try await device.subscribe(bundleID, to: channel) }
            // While the service was asked, the user may have changed the settings or removed the app.
            guard var record = records[bundleID] else { return }
            var lines: [JSONLine] = []
            if token != record.token { lines.append(EventLine.registered(bundleID, nil, token)) }
            record.token = token
            for (service, token) in services.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                // The app may have given up the service.
                guard let earlier = record.services[service.rawValue], earlier != token else { continue }
                record.services[service.rawValue] = token
                lines.append(EventLine.registered(bundleID, service, token))
            }
            records[bundleID] = record
            do {
                try store.keep(record, of: bundleID)
                _ = try store.add(lines.map(\.text), of: bundleID)
                await announce(to: bundleID)
            } catch {
                logger.error("New device tokens cannot be stored", metadata: ["cause": "\(error.cause)"])
            }
        } catch {
            logger.warning(
                "An app could not be registered again",
                metadata: ["app": "\(bundleID)", "cause": "\(error.cause)"])
        }
    }

    /// Removes an app from the device. Its device token is then no longer active. If the service cannot be reached, it
    /// is told later.
    func remove(_ bundleID: String) async throws(AgentError) {
        try Self.storing(store.removeApp(bundleID))
        records[bundleID] = nil
        overflowing.remove(bundleID)
        comingForward.remove(bundleID)
        let shown = state.centre.notifications.filter { $0.bundleID == bundleID }.map(\.id)
        changeState(of: bundleID) { _ = $0.remove(bundleID) }
        // Before others get a turn: a stream that is opened after that is of an app that has registered again.
        for entry in streams.removeValue(forKey: bundleID)?.values ?? [:].values { entry.wakeUps.finish() }
        for id in shown { await desktop?.remove(id) }
        if case .connected = connection.current { await unregisterRemovedApps() }
    }

    func unregisterRemovedApps() async {
        guard let device else { return }
        do {
            for bundleID in try store.removedApps() {
                guard await takeTurn(of: bundleID) else { return }
                defer { endTurn(of: bundleID) }
                // It may have registered again.
                guard records[bundleID] == nil else { continue }
                do throws(DeviceError) {
                    try await device.unregister(bundleID)
                } catch {
                    // Another attempt does not help if the service does not know the app.
                    guard !error.isTemporary else { return }
                }
                try store.forget(bundleID)
            }
        } catch {
            // The next connection tries it again.
            logger.warning("The service cannot be told of removed apps", metadata: ["cause": "\(error)"])
        }
    }

    /// An app has handled events, which do not come again.
    func handled(_ deliveries: [Int64], of bundleID: String) throws(AgentError) -> Int {
        let count = try Self.storing(store.remove(deliveries, of: bundleID))
        if count > 0 { overflowing.remove(bundleID) }
        logger.debug("An app has handled events", metadata: ["app": "\(bundleID)", "count": "\(count)"])
        return count
    }

    /// An app, or the user, says in which state the app is.
    func change(_ bundleID: String, to new: AppState) throws(AgentError) {
        guard var record = records[bundleID] else { throw Self.notRegistered(bundleID) }
        comingForward.remove(bundleID)
        switch new {
        case .foreground:
            // An app without a stream cannot show its notifications, so the system does.
            let hasStream = streams[bundleID]?.isEmpty == false
            if hasStream { state.bringForward(bundleID) } else { comingForward.insert(bundleID) }
            state.launch(bundleID)
        case .background:
            state.enterBackground(bundleID)
            state.launch(bundleID)
        case .forceQuit: state.forceQuit(bundleID)
        case .neverLaunched: return
        }
        guard record.isForceQuit != (new == .forceQuit) else { return }
        record.isForceQuit = new == .forceQuit
        records[bundleID] = record
        try Self.storing(store.keep(record, of: bundleID))
    }

    static func notRegistered(_ bundleID: String) -> AgentError {
        AgentError(.notRegistered, "The app \(bundleID) has not registered: PUT /v1/apps/\(bundleID) first.")
    }

    // MARK: Streams

    /// What the agent knows of an open stream.
    struct StreamEntry: Sendable {
        /// The process that reads it.
        let peer: LocalPeer
        let wakeUps: AsyncStream<Void>.Continuation
    }

    /// An open stream of an app. It is closed when nobody has this object any more, also if its answer was never written.
    final class OpenStream: Sendable {
        let agent: Agent
        let bundleID: String
        private let name: UInt64
        /// Yields when there are new events. It ends with the agent, when the app is removed, and when the client may
        /// not be the app.
        let wakeUps: AsyncStream<Void>
        let continuation: AsyncStream<Void>.Continuation
        private let ended = Atomic(false)
        /// Whether ``wakeUps`` has ended. A reader of many events asks this before each page, because it takes no
        /// wake-up in between.
        var isEnded: Bool { ended.load(ordering: .acquiring) }

        fileprivate init(_ agent: Agent, _ bundleID: String, _ name: UInt64) {
            (self.agent, self.bundleID, self.name) = (agent, bundleID, name)
            (wakeUps, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            continuation.onTermination = { [weak self] _ in self?.ended.store(true, ordering: .releasing) }
        }

        deinit {
            Task { [agent, bundleID, name] in await agent.closeStream(name, of: bundleID) }
        }
    }

    /// - Throws: ``AgentError``, also if the caller may not be the app.
    func openStream(of bundleID: String, for peer: LocalPeer) throws(AgentError) -> OpenStream {
        // Here and not before, so that the manifests cannot change in between.
        _ = try manifest(of: bundleID, for: peer)
        guard records[bundleID] != nil else { throw Self.notRegistered(bundleID) }
        guard streams[bundleID]?.count ?? 0 < AgentLimits.streams else {
            throw AgentError(.tooMany, "The app has \(AgentLimits.streams) streams already: close one.")
        }
        lastStream += 1
        let stream = OpenStream(self, bundleID, lastStream)
        if isEnding { stream.continuation.finish() }
        streams[bundleID, default: [:]][lastStream] = StreamEntry(peer: peer, wakeUps: stream.continuation)
        if comingForward.remove(bundleID) != nil { state.bringForward(bundleID) }
        return stream
    }

    private func closeStream(_ name: UInt64, of bundleID: String) async {
        if forgetStream(name, of: bundleID) { await wakeIfNeeded(bundleID) }
    }

    /// Without a stream, the app is not in the foreground.
    /// - Returns: whether it was the app's last one.
    @discardableResult
    private func forgetStream(_ name: UInt64, of bundleID: String) -> Bool {
        streams[bundleID]?[name] = nil
        guard streams[bundleID]?.isEmpty == true else { return false }
        streams[bundleID] = nil
        state.enterBackground(bundleID)
        return true
    }

    /// Ends the streams of processes that the manifests do not admit.
    func endStreamsOfOthers() {
        for (bundleID, open) in streams {
            for (name, entry) in open where manifests[bundleID]?.admits(entry.peer) != true {
                entry.wakeUps.finish()
                forgetStream(name, of: bundleID)
            }
        }
    }
}
