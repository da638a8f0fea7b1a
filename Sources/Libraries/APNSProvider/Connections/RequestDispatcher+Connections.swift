import Connections
import CoreMetrics
import HTTP2
import Logging
import NIOCore

// How connections are opened and closed.
extension RequestDispatcher {
    /// Opens a connection. One time limit covers the lookup, TCP, TLS and the service's SETTINGS.
    func open(_ id: ConnectionPlan.ID) {
        let keepAlive = KeepAlive(settings.keepAlive, at: .now())
        let connection = ServerConnection(
            id: id, authority: settings.environment.authorityHeader, keepAlive: keepAlive, clock: settings.clock,
            owner: self)
        connection.asksProxy = opener.proxy != nil
        connections.append(connection)
        // What was wrong some time ago says nothing about this attempt.
        if NIODeadline.now() - connectTroubleBegan > Self.troubleLasts { connectTrouble = nil }
        let deadline = NIODeadline.now() + settings.openTimeout
        let bound = NIOLoopBound(self, eventLoop: loop)
        let environment = settings.environment
        let lookUp = settings.lookUp
        // A proxy looks up the service's name by itself.
        let (host, port) = opener.proxy.map { ($0.host, $0.port) } ?? (environment.host, environment.port)
        let addresses = loop.makeFutureWithTask { try await lookUp.addresses(host, port) }
        addresses.assumeIsolated().whenComplete { result in
            switch result {
            case .success(let addresses):
                let (dispatcher, inUse) = (bound.value, bound.value.addresses.values)
                var generator = SystemRandomNumberGenerator()
                let order = ConnectionOpener.order(addresses, inUse: Array(inUse), using: &generator)
                dispatcher.tryNext(order[...], connection, until: deadline)
            case .failure(let error):
                let dispatcher = bound.value
                dispatcher.failed(connection, dispatcher.unreached(ConnectionFailure.cause(of: error)))
            }
        }
        loop.assumeIsolated().scheduleTask(deadline: deadline) { [weak self] in
            guard let self, plan[id]?.phase == .opening else { return }
            failed(connection, late(connection))
        }
    }

    /// Why nothing can be reached, with the proxy named if it is the one.
    private func unreached(_ cause: String) -> String {
        opener.proxy == nil ? cause : "the proxy cannot be reached: \(cause)"
    }

    private func late(_ connection: ServerConnection) -> String {
        connection.asksProxy ? "the proxy did not answer in time" : "the service did not answer in time"
    }

    /// Tries the addresses one after the other.
    private func tryNext(
        _ rest: ArraySlice<SocketAddress>,
        _ connection: ServerConnection,
        until deadline: NIODeadline,
        _ last: (any Error)? = nil,
    ) {
        guard plan[connection.id] != nil else { return }
        let left = deadline - .now()
        guard left > .nanoseconds(0) else { return failed(connection, late(connection)) }
        guard let address = rest.first else {
            let cause = last.map { ConnectionFailure.cause(of: $0) } ?? "the host has no address"
            return failed(connection, unreached(cause))
        }
        addresses[connection.id] = address
        // Give each address only a share of the time, because an address that does not answer must leave time for
        // the others.
        let share = TimeAmount.nanoseconds(left.nanoseconds / Int64(rest.count))
        let bound = NIOLoopBound(self, eventLoop: loop)
        let application = NIOLoopBound(connection, eventLoop: loop)
        opener.connect(to: address, within: share, on: loop, application).assumeIsolated().whenComplete { result in
            switch result {
            case .success(let channel):
                connection.opened(channel)
                // Opening the connection took too long, and the dispatcher has already given it up.
                if bound.value.plan[connection.id] == nil { channel.close(promise: nil) }
            case .failure(let error):
                bound.value.tryNext(rest.dropFirst(), connection, until: deadline, error)
            }
        }
    }

    /// Handles a connection that could not be opened.
    private func failed(_ connection: ServerConnection, _ cause: String) {
        guard plan[connection.id]?.phase == .opening || plan.isReplacing else { return }
        recordTrouble(cause)
        // Remove it before it is closed; otherwise closing would report a second end with another cause.
        remove(connection)
        connection.close()
    }

    private func recordTrouble(_ cause: String) {
        let place = "\(settings.environment.host), port \(settings.environment.port)"
        let error = ProviderError(.cannotConnect, "No connection to \(place): \(cause)")
        connectTrouble = error
        connectTroubleBegan = .now()
        settings.troubleChanged(error)
        logger.info("No connection to the service", metadata: ["server": "\(place)", "cause": "\(cause)"])
    }

    /// Removes a connection.
    func drop(_ connection: ServerConnection) {
        connections.removeAll { $0 === connection }
        addresses[connection.id] = nil
        if plan.closed(connection.id, at: .now(), random: random) { installReplacement() }
        metrics.connections.record(connections.count)
    }

    private func remove(_ connection: ServerConnection) {
        drop(connection)
        failWaits()
        failThoseThatDoNotWait()
        dispatch()
        wakeReaders()
        endIfDone()
    }

    /// How long the failure of an attempt to connect says something about the next one.
    private static let troubleLasts = TimeAmount.seconds(30)

    /// Fails waiting requests that do not wait for an outage to end, if there is no connection and the last attempt to
    /// connect has failed.
    func failThoseThatDoNotWait() {
        guard let connectTrouble, queue.needsConnection, plan.isUnreachable(at: .now()) else { return }
        finish(queue.becameUnreachable(connectTrouble))
    }

    // MARK: Events of connections

    func settingsReceived(on connection: ServerConnection, streams: Int?, isFirst: Bool) {
        plan.announced(streams, on: connection.id)
        if isFirst {
            connectTrouble = nil
            settings.troubleChanged(nil)
            logger.debug(
                "Connected to the service",
                metadata: ["server": "\(addresses[connection.id].map { "\($0)" } ?? "")"])
            metrics.connections.record(connections.count)
            for wait in whenOpen { wait.promise.succeed() }
            whenOpen = []
        }
        dispatch()
    }

    func goingAway(_ connection: ServerConnection, reason: String, code: HTTP2ErrorCode) {
        plan.goingAway(connection.id, isInOrder: code == .noError)
        logger.info(
            "The service ends a connection", metadata: ["reason": "\(reason)", "code": "\(code)"])
    }

    func closed(_ connection: ServerConnection) {
        guard let phase = plan[connection.id]?.phase else { return }
        if phase == .opening {
            recordTrouble(connection.trouble ?? "it was closed")
        } else {
            logger.debug("A connection to the service ended", metadata: ["cause": "\(connection.trouble ?? "")"])
        }
        remove(connection)
    }

    /// Handles a connection on which nothing has arrived for too long.
    func suspect(_ id: ConnectionPlan.ID, replaceFrom: NIODeadline) {
        plan.suspect(id, replaceFrom: replaceFrom)
    }

    /// Handles a sign of life on a connection that was suspect.
    func trust(_ id: ConnectionPlan.ID) {
        plan.suspect(id, replaceFrom: nil)
        // Whoever waits for a connection has one.
        guard plan.hasOpen else { return }
        for wait in whenOpen { wait.promise.succeed() }
        whenOpen = []
    }

    // MARK: Waiting for a connection

    /// Opens a connection before the first notification.
    func connect(until deadline: NIODeadline, _ promise: EventLoopPromise<Void>) {
        guard !plan.hasOpen else { return promise.succeed() }
        guard !queue.isShuttingDown else { return promise.fail(ProviderError.clientShutDown) }
        whenOpen.append((deadline, promise))
        openMore()
        scheduleTick(at: .now() + RequestQueue.tickInterval)
    }

    private func failWaits() {
        guard let connectTrouble else { return }
        for wait in whenOpen { wait.promise.fail(connectTrouble) }
        whenOpen = []
    }

    func endWaits(at now: NIODeadline) {
        for wait in whenOpen where wait.deadline <= now {
            wait.promise.fail(connectTrouble ?? ProviderError(.deadlineExceeded, "No connection within the time."))
        }
        whenOpen.removeAll { $0.deadline <= now }
    }
}
