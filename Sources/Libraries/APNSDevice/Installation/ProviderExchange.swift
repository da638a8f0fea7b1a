import Connections
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Notifications

/// One request to the provider server on a connection of its own. An app sends one in a day.
final class ProviderExchange: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    struct Answer: Sendable {
        let status: Int
        /// The server's sentence about an error.
        let cause: String
    }

    /// The largest answer, in bytes: an installation has up to 16 KiB.
    private static let maximumBytes = 65_536
    private static let connectTimeout = TimeAmount.seconds(20)

    private let head: HTTPRequestHead
    private let body: ByteBuffer
    private let promise: EventLoopPromise<Answer>
    private var status: Int?
    private var received = ByteBuffer()

    private init(_ head: HTTPRequestHead, _ body: ByteBuffer, _ promise: EventLoopPromise<Answer>) {
        self.head = head
        self.body = body
        self.promise = promise
    }

    static func send(
        _ method: HTTPMethod,
        _ path: String,
        _ body: Data,
        headers: [(String, String)],
        to server: ProviderServerAddress,
        timeout: TimeAmount,
        on group: any EventLoopGroup,
    ) async throws(DeviceError) -> Answer {
        var head = HTTPRequestHead(version: .http1_1, method: method, uri: server.path + path)
        head.headers.add(name: "host", value: server.authority)
        head.headers.add(name: "content-type", value: "application/json")
        head.headers.add(name: "content-length", value: String(body.count))
        head.headers.add(name: "connection", value: "close")
        for (name, value) in headers { head.headers.add(name: name, value: value) }
        let request = head
        let bytes = ByteBuffer(bytes: body)
        let loop = group.next()
        let promise = loop.makePromise(of: Answer.self)
        do {
            let channel = try await ClientBootstrap(group: loop).connectTimeout(min(timeout, connectTimeout))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        if let tls = server.tls {
                            try channel.pipeline.syncOperations.addHandler(
                                NIOSSLClientHandler(context: tls, serverHostname: server.serverName))
                        }
                        try channel.pipeline.syncOperations.addHTTPClientHandlers()
                        try channel.pipeline.syncOperations.addHandler(ProviderExchange(request, bytes, promise))
                    }
                }.connect(host: server.host, port: server.port).get()
            let late = loop.scheduleTask(in: timeout) {
                promise.fail(DeviceError(.timedOut, "The provider server did not answer in time."))
            }
            defer {
                late.cancel()
                channel.close(promise: nil)
            }
            return try await promise.futureResult.get()
        } catch {
            // A promise that was answered ignores this.
            promise.fail(error)
            let cause = ConnectionFailure.cause(of: error)
            throw error as? DeviceError
                ?? DeviceError(.notConnected, "The provider server at \(server.authority) cannot be reached: \(cause)")
        }
    }

    // MARK: Events of the channel

    func channelActive(context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        // 1xx answers come before the answer (RFC 9110, 15.2).
        // fits: NIO reads three digits
        case .head(let head): if head.status.code >= 200 { status = Int(head.status.code) }
        case .body(var part):
            guard received.readableBytes + part.readableBytes <= Self.maximumBytes else {
                promise.fail(DeviceError(.badResponse, "The provider server's answer is too long."))
                return context.close(promise: nil)
            }
            received.writeBuffer(&part)
        case .end:
            guard let status else { return }
            promise.succeed(Answer(status: status, cause: cause(status)))
            context.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let cause = ConnectionFailure.cause(of: error)
        promise.fail(DeviceError(.notConnected, "The connection to the provider server failed: \(cause)"))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        promise.fail(DeviceError(.disconnected, "The provider server closed the connection without an answer."))
        context.fireChannelInactive()
    }

    /// The `detail` of a problem document (RFC 9457).
    private func cause(_ status: Int) -> String {
        let problem = try? JSONValue(answer: Array(received.readableBytesView))
        return problem?.members["detail"]?.string ?? "The provider server answered \(status)."
    }
}
