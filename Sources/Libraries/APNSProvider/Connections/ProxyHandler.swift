import NIOCore

/// Asks a proxy for a tunnel (RFC 9110, 9.3.6), and then makes way for TLS. Confined to its event loop.
final class ProxyHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The largest head of a proxy's answer, in bytes. Proxies add a few headers.
    static let maximumAnswerBytes = 8_192

    private let request: String
    /// Adds the handlers that use the tunnel.
    private let opened: (any Channel) throws -> Void
    /// Called with the reason if there is no tunnel. The channel is closed then.
    private let failed: (String) -> Void
    private var answer = ByteBuffer()
    private var isOver = false
    private var context: ChannelHandlerContext?

    init(
        _ proxy: HTTPProxy,
        to host: String,
        _ port: Int,
        opened: @escaping (any Channel) throws -> Void,
        failed: @escaping (String) -> Void,
    ) {
        let place = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        let authorization = proxy.authorization.map { "proxy-authorization: \($0)\r\n" } ?? ""
        request = "CONNECT \(place) HTTP/1.1\r\nhost: \(place)\r\n\(authorization)\r\n"
        self.opened = opened
        self.failed = failed
    }

    /// If the handler is added to a connection that is open, it asks at once.
    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { ask(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelActive(context: ChannelHandlerContext) { ask(context) }

    private func ask(_ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: request)), promise: nil)
    }

    /// Gives up waiting for the proxy. Without effect if the tunnel is open.
    func giveUp(_ cause: String) {
        if let context { fail(cause, context) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return context.fireChannelRead(data) }
        var bytes = unwrapInboundIn(data)
        answer.writeBuffer(&bytes)
        // Whatever else it says, waiting for its end would only take longer.
        guard Self.mayBeHTTP(answer.readableBytesView) else { return fail("the proxy does not speak HTTP", context) }
        guard let end = Self.endOfHead(in: answer.readableBytesView) else {
            if answer.readableBytes > Self.maximumAnswerBytes {
                fail("the proxy's answer is longer than \(Self.maximumAnswerBytes) bytes", context)
            }
            return
        }
        let head = answer.readBytes(length: end) ?? []
        guard let status = Self.status(head) else { return fail("the proxy does not speak HTTP", context) }
        guard (200..<300).contains(status) else {
            return fail(
                status == 407 ? "the proxy asks for a name and a password" : "the proxy refused with status \(status)",
                context)
        }
        isOver = true
        do {
            try opened(context.channel)
        } catch {
            isOver = false
            return fail("TLS cannot begin", context)
        }
        if answer.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(answer)) }
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail("the proxy closed the connection", context)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !isOver else { return context.fireErrorCaught(error) }
        fail("the connection to the proxy failed", context)
    }

    private func fail(_ cause: String, _ context: ChannelHandlerContext) {
        guard !isOver else { return }
        isOver = true
        failed(cause)
        context.close(promise: nil)
    }

    private static let beginning = Array("HTTP/1.".utf8)

    /// Whether an answer begins as one of HTTP/1, as far as it has come.
    private static func mayBeHTTP(_ bytes: ByteBufferView) -> Bool { zip(bytes, beginning).allSatisfy { $0 == $1 } }

    /// The status of an answer (RFC 9112, 4): `HTTP/1.1 200 …`.
    private static func status(_ head: [UInt8]) -> Int? {
        let words = head.prefix { $0 != 0x0d && $0 != 0x0a }.split(separator: 0x20, maxSplits: 2)
        guard words.count >= 2, words[0].starts(with: beginning), words[1].count == 3,
            words[1].allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return Int(String(decoding: words[1], as: UTF8.self))  // fits: nil if it does not
    }

    /// The number of bytes up to the empty line after the head; nil if it has not come.
    private static func endOfHead(in bytes: ByteBufferView) -> Int? {
        var newlines = 0
        for (offset, byte) in bytes.enumerated() {
            switch byte {
            case 0x0a: newlines += 1
            case 0x0d: break
            default: newlines = 0
            }
            if newlines == 2 { return offset + 1 }
        }
        return nil
    }
}
