import HTTP2
import NIOCore

// Sends acknowledgements to the courier: carries out the decisions of `Acknowledgements`.
extension DeviceLink {
    /// Carries out the steps that are due.
    func acknowledge() {
        while let connection = listeningCourier,
            let step = acknowledgements.next(
                at: eventLoop.now, isLast: closing != nil && !inbox.isTaking || connection.isGoingAway)
        {
            let timeout = TimeAmount(configuration.requestTimeout)
            switch step {
            case .request(let sendings):
                let began = eventLoop.now
                connection.send(Self.request(sendings), timeout: timeout) { [self] in
                    acknowledged($0, on: connection, since: began)
                }
            case .begin(let sendings):
                let stream = connection.begin(Self.request(sendings)) { [self] in
                    acknowledged($0, on: connection, since: openAcknowledgement?.ended)
                }
                openAcknowledgement = stream.map { OpenAcknowledgement(stream: $0) }
            case .add(let sendings):
                guard let stream = openAcknowledgement?.stream else { break }
                connection.add(Self.body(sendings), to: stream)
            case .end:
                guard let stream = openAcknowledgement?.stream else { break }
                openAcknowledgement?.ended = eventLoop.now
                connection.end(stream, timeout: timeout)
            }
        }
        scheduleAcknowledgement()
    }

    /// The courier's connection, if acknowledgements can be sent on it.
    private var listeningCourier: CourierConnection? {
        guard case .connected(let connection) = state, isStreamOpen || closing != nil else { return nil }
        return connection
    }

    /// Schedules the end of the open request.
    private func scheduleAcknowledgement() {
        guard scheduledAcknowledgement == nil, listeningCourier != nil, let deadline = acknowledgements.deadline else {
            return
        }
        let bound = bound
        scheduledAcknowledgement = eventLoop.scheduleTask(deadline: deadline) {
            bound.value.scheduledAcknowledgement = nil
            bound.value.acknowledge()
        }
    }

    /// Handles the answer to a request with acknowledgements.
    /// - Parameter ended: the time at which the request had ended; nil if the courier answered before its end, so
    ///   that it is unknown what it has read.
    private func acknowledged(
        _ result: Result<CourierResponse, DeviceError>,
        on connection: CourierConnection,
        since ended: NIODeadline?,
    ) {
        // If the connection was replaced, its requests have already failed.
        guard isCurrent(connection) else { return }
        switch (result.flatMap { response in response.refusal.map { .failure($0) } ?? .success(response) }, ended) {
        case (.success, let ended?):
            let count = acknowledgements.answered()
            openAcknowledgement = nil
            configuration.observer?.acknowledged(count, after: eventLoop.now - ended)
            acknowledge()
            closeIfDone()
        case (.success, nil):
            notAcknowledged(
                DeviceError(.badResponse, "The courier answered a request before its end."), on: connection)
        case (.failure(let error), _):
            notAcknowledged(error, on: connection)
        }
    }

    private func notAcknowledged(_ error: DeviceError, on connection: CourierConnection) {
        acknowledgingFailed()
        // If the connection has ended, that was handled already.
        guard case .connected = state else { return }
        ended(connection, error)
        connection.fail(error)
    }

    /// Keeps the acknowledgements of the failed request for the next connection.
    func acknowledgingFailed() {
        acknowledgements.failed()
        openAcknowledgement = nil
    }

    private static func request(_ sendings: [UInt64]) -> CourierRequest {
        CourierRequest(.post, "/1/acknowledgements", body: body(sendings))
    }

    private static func body(_ sendings: [UInt64]) -> ByteBuffer {
        let numbers = sendings.map(String.init).joined(separator: ",")
        return ByteBuffer(string: #"{"sendings":[\#(numbers)]}"# + "\n")
    }
}
