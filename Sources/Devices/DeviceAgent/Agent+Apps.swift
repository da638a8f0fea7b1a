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
        throw AgentError(
            .notAllowed,
            "No manifest in \(settings.manifests) lets the user \(peer.user) be the app \(bundleID). "
                + "The agent's journal names the manifests that it does not use.")
    }

    /// Whether the caller may change settings and see all apps.
    nonisolated func isAdministrator(_ peer: LocalPeer) -> Bool { peer.user == 0 || peer.user == agentUser }

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
        let old = records[bundleID]
        let wanted = Set(registration.services ?? [])
        var record: AppRecord
        if let old, wanted.isSubset(of: old.services.keys), old.registration.channels == registration.channels {
            // Nothing new for the service: so an app starts at once, also without a network.
            record = old
            record.services = old.services.filter { wanted.contains($0.key) }
        } else {
            record = try await askForTokens(bundleID, registration)
            record.settings = old?.settings
        }
        record.registration = registration
        record.isForceQuit = false
        do {
            // An app that registers as before also starts on a full disk.
            if record != old { try store.keep(record, of: bundleID) }
        } catch {
            throw AgentError(error)
        }
        records[bundleID] = record
        Self.install(bundleID, record, in: &state)
        return record
    }

    private func askForTokens(
        _ bundleID: String,
        _ registration: AppRegistration,
    ) async throws(AgentError) -> AppRecord {
        guard let device else { throw AgentError(.unavailable, "The agent is starting: try again.") }
        let earlier = records[bundleID]?.registration.channels ?? []
        let services = (registration.services ?? []).compactMap(PushService.init(rawValue:))
        let channels = registration.channels ?? []
        let answer = await TimeLimit.run(AgentLimits.registering, ContinuousClock()) {
            () -> Result<AppRecord, DeviceError> in
            do throws(DeviceError) {
                var record = AppRecord(
                    registration: registration, token: try await device.register(bundleID), services: [:])
                for service in services {
                    record.services[service.rawValue] = try await device.register(bundleID, for: service)
                }
                for channel in channels where !earlier.contains(channel) {
                    try await device.subscribe(bundleID, to: channel)
                }
                for channel in earlier where !channels.contains(channel) {
                    try await device.unsubscribe(bundleID, from: channel)
                }
                return .success(record)
            } catch {
                return .failure(error)
            }
        }
        switch answer {
        case .success(let record): return record
        case .failure(let error):
            throw AgentError(error.isTemporary ? .unavailable : .refused, error.cause)
        case nil: throw AgentError(.unavailable, "The service cannot be reached now: try again.")
        }
    }

    /// Registers an app again. If a device token has changed, the app is told.
    func refresh(_ bundleID: String) async {
        guard let old = records[bundleID], let device else { return }
        do throws(DeviceError) {
            var (tokens, lines) = (
                (app: try await device.register(bundleID), services: [String: String]()), [JSONLine]()
            )
            if tokens.app != old.token { lines.append(EventLine.registered(bundleID, nil, tokens.app)) }
            for service in old.services.keys.sorted().compactMap(PushService.init(rawValue:)) {
                let token = try await device.register(bundleID, for: service)
                tokens.services[service.rawValue] = token
                if token != old.services[service.rawValue] {
                    lines.append(EventLine.registered(bundleID, service, token))
                }
            }
            guard !lines.isEmpty, var record = records[bundleID] else { return }
            // A device whose tokens changed was reset, so its subscriptions have ended as well.
            for channel in record.registration.channels ?? [] { try await device.subscribe(bundleID, to: channel) }
            (record.token, record.services) = (tokens.app, tokens.services)
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
        do {
            try store.removeApp(bundleID)
        } catch {
            throw AgentError(error)
        }
        records[bundleID] = nil
        overflowing.remove(bundleID)
        let shown = state.centre.notifications.filter { $0.bundleID == bundleID }.map(\.id)
        _ = state.remove(bundleID)
        for id in shown { await desktop?.remove(id) }
        for entry in streams.removeValue(forKey: bundleID)?.values ?? [:].values { entry.wakeUps.finish() }
        if case .connected = connection.current { await unregisterRemovedApps() }
    }

    func unregisterRemovedApps() async {
        guard let device else { return }
        do {
            for bundleID in try store.removedApps() where records[bundleID] == nil {
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
        do {
            let count = try store.remove(deliveries, of: bundleID)
            if count > 0 { overflowing.remove(bundleID) }
            logger.debug("An app has handled events", metadata: ["app": "\(bundleID)", "count": "\(count)"])
            return count
        } catch {
            throw AgentError(error)
        }
    }

    /// An app, or the user, says in which state the app is.
    func change(_ bundleID: String, to new: AppState) throws(AgentError) {
        guard var record = records[bundleID] else { throw Self.notRegistered(bundleID) }
        switch new {
        case .foreground: state.bringForward(bundleID)
        case .background:
            state.enterBackground(bundleID)
            state.launch(bundleID)
        case .forceQuit: state.forceQuit(bundleID)
        case .neverLaunched: return
        }
        guard record.isForceQuit != (new == .forceQuit) else { return }
        record.isForceQuit = new == .forceQuit
        records[bundleID] = record
        do {
            try store.keep(record, of: bundleID)
        } catch {
            throw AgentError(error)
        }
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
