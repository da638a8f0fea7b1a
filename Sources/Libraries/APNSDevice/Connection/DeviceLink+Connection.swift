import Connections
import Foundation
import HTTP2
import NIOCore
import NIOPosix
import NIOSSL

// The connection: connecting, checking it, and reconnecting.
extension DeviceLink: CourierConnection.Owner {
    func connect() {
        let connection = CourierConnection(owner: self, authority: courier.authority, eventLoop: eventLoop)
        state = .connecting(connection)
        if listening != nil { delegate.stateChanged(to: .connecting) }
        limitOpening(of: connection)
        let (bound, made) = (bound, NIOLoopBound(connection, eventLoop: eventLoop))
        let name = courier.serverName ?? (courier.host.isIPAddress ? nil : courier.host)
        let (tls, credentials) = (tls.context, credentials)
        let bootstrap = ClientBootstrap(group: eventLoop)
            .connectTimeout(TimeAmount(configuration.connectTimeout))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.recvAllocator, value: ConnectionBuffers.idle.recvAllocator)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let credentials { try pipeline.addHandler(CredentialsHandler(credentials)) }
                    let session = HTTP2Session(
                        role: .client, configuration: Self.http2, application: made.value)
                    session.buffers = try TLSBuffers.add(
                        NIOSSLClientHandler(context: tls, serverHostname: name), to: channel)
                    try pipeline.addHandler(session)
                }
            }
        // An IP address needs no resolver, which would use threads.
        let channel =
            if let address = courier.host.socketAddress(port: courier.port) {
                bootstrap.connect(to: address)
            } else {
                bootstrap.connect(host: courier.host, port: courier.port)
            }
        channel.whenComplete { result in
            switch result {
            case .failure(let error):
                let cause = ConnectionFailure.cause(of: error)
                let place = "\(bound.value.courier.host), port \(bound.value.courier.port)"
                bound.value.ended(made.value, DeviceError(.notConnected, "No connection to \(place): \(cause)"))
            case .success(let channel):
                // If the connection was given up meanwhile, close it.
                if !bound.value.isCurrent(made.value) { channel.close(promise: nil) }
            }
        }
    }

    /// Limits the time until the courier opens the stream of notifications, or until it is heard if none is wanted.
    /// Until then the connection is not checked: a courier can answer PING although it does not open the stream.
    func limitOpening(of connection: CourierConnection) {
        let (bound, made) = (bound, NIOLoopBound(connection, eventLoop: eventLoop))
        check?.cancel()
        isChecked = false
        check = .once(
            eventLoop.scheduleTask(in: TimeAmount(configuration.connectTimeout)) {
                let error = DeviceError(.timedOut, "The courier did not answer in time.")
                bound.value.ended(made.value, error)
                made.value.fail(error)
            })
    }

    /// The HTTP/2 settings. A device makes few requests, so it has no header table: each request takes about 50
    /// bytes more, and 10,000 devices in one process save 3 KB each.
    private static let http2: HTTP2Configuration = {
        var configuration = HTTP2Configuration()
        configuration.limits.maxConcurrentStreams = 100
        configuration.limits.headerTableBytes = 0
        configuration.idleMemory = .releasedAfter(.seconds(1))
        return configuration
    }()

    func isCurrent(_ connection: CourierConnection) -> Bool {
        switch state {
        case .connecting(let current), .connected(let current): current === connection
        case .idle, .waiting, .closed: false
        }
    }

    // MARK: CourierConnection.Owner

    func connectionIsActive(_ connection: CourierConnection) {
        guard isCurrent(connection) else { return connection.fail(DeviceError(.closed, "The device was closed.")) }
        state = .connected(connection)
        keepAlive.begin(at: eventLoop.now)
        if listening != nil { beginListening(on: connection) }
        sendWaiting()
        acknowledge()
    }

    /// Reports the device's power state and its software, and then opens the stream, so that the courier knows the power state before
    /// it sends the first notification.
    func beginListening(on connection: CourierConnection) {
        let power = configuration.readPower?() ?? power
        if power != nil || configuration.software != nil {
            // A device that reports no power counts as awake.
            let state = CourierRequest.state(power ?? .awake, software: configuration.software)
            let made = NIOLoopBound(connection, eventLoop: eventLoop)
            connection.send(state, timeout: TimeAmount(configuration.requestTimeout)) { [delegate] result in
                // If the connection has ended, `ended` handles that.
                guard case .success(let response) = result, let refusal = response.refusal else { return }
                delegate.reported(refusal)
                // The courier refuses the stream too, and that alone would look as if it were for now.
                if refusal.code == .identityRefused { made.value.fail(refusal) }
            }
            connection.flush()
        }
        connection.openStream()
    }

    func heard(_ connection: CourierConnection) {
        guard isCurrent(connection) else { return }
        keepAlive.heard(at: eventLoop.now)
        // Any bytes from the courier show that TLS is ready. If no stream is wanted, checking for silence begins
        // now.
        if listening == nil, !isChecked { startChecking() }
    }

    func streamOpened(_ connection: CourierConnection) {
        guard isCurrent(connection) else { return }
        isStreamOpen = true
        reconnection.open(at: eventLoop.now)
        startChecking()
        delegate.stateChanged(to: .connected)
        acknowledge()
        renewIfDue()
    }

    func received(_ line: LineReader.Line, on connection: CourierConnection) {
        guard isCurrent(connection) else { return }
        switch line {
        case .notification(let notification):
            inbox.append(notification)
            if inbox.isFull { connection.pause() }
            handOverNext()
        case .unreadable(let sending):
            delegate.reported(DeviceError(.badResponse, "The courier sent a notification that cannot be read."))
            acknowledgements.taken(sending)
            acknowledge()
        case .end, .nothing:
            break
        }
    }

    func ended(_ connection: CourierConnection, _ error: DeviceError) {
        guard isCurrent(connection) else { return }
        check?.cancel()
        isStreamOpen = false
        isChecked = false
        acknowledgingFailed()
        let error = explained(error)
        guard closing == nil else { return end(nil) }
        guard listening != nil else {
            // If no stream is wanted, do not reconnect.
            state = .idle
            let waiting = requests
            requests = []
            for request in waiting { request.finish(.failure(error)) }
            return
        }
        guard error.isTemporary else { return end(error) }
        let delay = reconnection.ended(at: eventLoop.now, random: configuration.jitter())
        let bound = bound
        state = .waiting(eventLoop.scheduleTask(in: delay) { bound.value.connect() })
        delegate.stateChanged(to: .disconnected(error, retryIn: .nanoseconds(delay.nanoseconds)))
    }

    /// Says more of the cause if the authority was replaced, or if this device's clock may be wrong.
    private func explained(_ error: DeviceError) -> DeviceError {
        if error.code == .courierNotTrusted, tls.isReplaced {
            return DeviceError(
                .identityRefused,
                "The service was set up anew: \(courier.authorityFile) has another authority than before. Activate the device again."
            )
        }
        guard error.code == .identityRefused || error.code == .courierNotTrusted,
            let hint = credentials?.validity?.clockHint(at: configuration.now())
        else { return error }
        return DeviceError(error.code, "\(error.cause) A possible reason: \(hint).", reason: error.reason)
    }

    // MARK: Watching

    /// Starts to check the connection for silence.
    private func startChecking() {
        guard case .connected = state, closing == nil else { return }
        checkAgain(at: eventLoop.now)
    }

    func checkAgain(at moment: NIODeadline) {
        check?.cancel()
        isChecked = true
        // The call throws only if the event loop has ended.
        check = (try? eventLoop.scheduleCallback(at: moment, handler: SilenceCheck(link: bound))).map { .check($0) }
    }

    func checkNow() {
        guard case .connected(let connection) = state, closing == nil else { return }
        renewIfDue()
        switch keepAlive.check(at: eventLoop.now) {
        case .wait(let moment):
            checkAgain(at: moment)
        case .ping(let moment):
            connection.ping()
            checkAgain(at: moment)
        case .dead:
            let error = DeviceError(.timedOut, "The courier no longer answers.")
            ended(connection, error)
            connection.fail(error)
        }
    }
}
