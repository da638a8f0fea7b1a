import APNSDevice
import Logging
import Storage

// The registrations, and the service's subscriptions for them.
extension Distributor {
    /// Registers an app. A known token keeps its endpoint, also without a network.
    /// - Parameter isOwner: whether the caller owns the app's bus name.
    func register(
        _ app: String,
        _ token: String,
        _ vapid: String?,
        _ version: Connector.Version,
        isOwner: Bool,
    ) async throws(RegistrationFailure) -> Connector {
        guard isOwner else {
            throw RegistrationFailure(reason: .internalError, cause: "The caller does not own the name \(app).")
        }
        let name = subscription(app, token)
        var connector = Connector(
            subscription: name, service: app, token: token, version: version, vapid: vapid,
            endpoint: connectors[name]?.endpoint ?? "")
        if connectors[name] == connector { return connector }
        try checkRoom(for: connector)
        pending[name] = connector
        defer { pending[name] = nil }
        let wanted = connector
        let answer = await TimeLimit.run(AgentLimits.registering, ContinuousClock()) {
            () -> Result<String, DeviceError> in
            do throws(DeviceError) { return .success(try await self.subscribe(wanted)) } catch {
                return .failure(error)
            }
        }
        switch answer {
        case nil: throw RegistrationFailure(reason: .network, cause: "The service does not answer.")
        case .failure(let error):
            let reason: RegistrationFailure.Reason =
                error.code == .identityRefused ? .actionRequired : error.isTemporary ? .network : .internalError
            throw RegistrationFailure(reason: reason, cause: error.cause)
        case .success(let endpoint): connector.endpoint = endpoint
        }
        do {
            try store.keep(connector)
        } catch {
            throw RegistrationFailure(reason: .internalError, cause: error.cause)
        }
        connectors[name] = connector
        return connector
    }

    private func checkRoom(for connector: Connector) throws(RegistrationFailure) {
        let others = connectors.merging(pending) { $1 }.filter { $0.key != connector.subscription }.values
        let cause: String
        if others.contains(where: { $0.token == connector.token }) {
            cause = "Another app has this token."
        } else if others.count(where: { $0.service == connector.service }) >= AgentLimits.connectorsOfName {
            cause = "The app has \(AgentLimits.connectorsOfName) registrations already: end one."
        } else if others.count >= AgentLimits.connectors {
            cause = "There are \(AgentLimits.connectors) registrations already."
        } else {
            return
        }
        throw RegistrationFailure(reason: .internalError, cause: cause)
    }

    private func subscribe(_ connector: Connector) async throws(DeviceError) -> String {
        if !isAppRegistered {
            try await service.registerApp()
            isAppRegistered = true
        }
        // Application servers of the first version send text that is not encrypted.
        return try await service.subscribe(
            connector.subscription, vapid: connector.vapid, isPlain: connector.version == .one)
    }

    /// Ends a registration. If the service cannot be told now, ``reconcile()`` does it.
    func end(_ connector: Connector) async {
        do {
            try store.removeConnector(connector.subscription)
        } catch {
            logger.error("The end of a registration cannot be stored", metadata: ["cause": "\(error.cause)"])
        }
        connectors[connector.subscription] = nil
        let subscription = connector.subscription
        Task { [service, logger] in
            do throws(DeviceError) {
                try await service.unsubscribe(subscription)
            } catch {
                logger.debug(
                    "The service is told of an ended registration later", metadata: ["cause": "\(error.cause)"])
            }
        }
    }

    /// Compares the registrations with the service's subscriptions after each connection: the service may have been reset, and an app may
    /// have left while the service could not be reached.
    func reconcile() async {
        isAppRegistered = false
        do throws(DeviceError) {
            try await service.registerApp()
            isAppRegistered = true
            let known = try await service.subscriptions()
            for subscription in known where subscription.name.hasPrefix(Connector.prefix) {
                guard connectors[subscription.name] == nil, pending[subscription.name] == nil else { continue }
                try await service.unsubscribe(subscription.name)
            }
            let endpoints = Dictionary(known.map { ($0.name, $0.endpoint) }) { first, _ in first }
            for connector in connectors.values where endpoints[connector.subscription] != connector.endpoint {
                let endpoint = try await subscribe(connector)
                // The app may have left, or registered again, while the service was asked.
                guard var current = connectors[connector.subscription], current == connector else { continue }
                current.endpoint = endpoint
                do {
                    try store.keep(current)
                } catch {
                    logger.error("A new endpoint cannot be stored", metadata: ["cause": "\(error.cause)"])
                    continue
                }
                connectors[current.subscription] = current
                await announce(current)
            }
        } catch {
            // The next connection tries it again.
            logger.warning(
                "The registrations cannot be compared with the service's", metadata: ["cause": "\(error.cause)"])
        }
    }
}
