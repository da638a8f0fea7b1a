import NIOCore

/// The requests of one client connection. Confined to its event loop.
final class ClientExchanges: HTTP2Application {
    private let eventLoop: any EventLoop
    private var session: HTTP2Session?
    private var exchanges = StreamTable<ClientExchange>()
    private var goAwayReason = ""

    init(eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    func begin(
        _ headers: HeaderBlock,
        body: ByteBuffer?,
        timeout: TimeAmount,
        promise: EventLoopPromise<HTTP2Response>,
    ) {
        var exchange = ClientExchange(promise: promise)
        guard let session else {
            return exchange.fail(HTTP2ClientError(.connectionEnded, "The connection has ended."))
        }
        do {
            let stream = try session.request(headers, body: body)
            let bound = NIOLoopBound(self, eventLoop: eventLoop)
            exchange.deadline = eventLoop.scheduleTask(in: timeout) { bound.value.timeOut(stream) }
            exchanges.append(stream, exchange)
        } catch {
            exchange.fail(HTTP2ClientError(.connectionEnded, error.description))
        }
    }

    private func timeOut(_ stream: StreamID) {
        guard let index = exchanges.index(of: stream) else { return }
        exchanges[index].failure = HTTP2ClientError(.timedOut, "The server did not answer in time.")
        session?.reset(stream, .cancel)
    }

    func sessionBecameActive(_ session: HTTP2Session) { self.session = session }

    func headerReceived(_ stream: StreamID, name: Span<UInt8>, value: Span<UInt8>) {
        guard let index = exchanges.index(of: stream) else { return }
        // The client needs nothing else: the rest is in the body.
        guard name.withUnsafeBufferPointer({ $0.elementsEqual(":status".utf8) }) else { return }
        exchanges[index].status = Int(value.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }) ?? 0
    }

    func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
        guard let index = exchanges.index(of: stream) else { return }
        guard exchanges[index].body.readableBytes + bytes.count <= HTTP2Client.maximumResponseBytes else {
            exchanges[index].failure = HTTP2ClientError(.responseTooLarge, "The response is too large.")
            session?.reset(stream, .cancel)
            return
        }
        _ = bytes.withUnsafeBufferPointer { exchanges[index].body.writeBytes($0) }
    }

    func streamEnded(_ stream: StreamID) {
        guard let index = exchanges.index(of: stream) else { return }
        exchanges[index].isEnded = true
        let exchange = exchanges[index]
        exchange.deadline?.cancel()
        exchange.promise.succeed(HTTP2Response(status: exchange.status, body: exchange.body))
    }

    func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode) {
        guard let exchange = exchanges.remove(stream), !exchange.isEnded else { return }
        let reason = goAwayReason.isEmpty ? "" : " (\(goAwayReason))"
        exchange.fail(
            exchange.failure ?? HTTP2ClientError(.streamReset, "The server reset the request: \(error)\(reason)."))
    }

    func goAwayReceived(lastStream: StreamID, error: HTTP2ErrorCode, debugData: Span<UInt8>) {
        goAwayReason = debugData.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    func sessionClosed(_ end: SessionEnd) {
        session = nil
    }
}
