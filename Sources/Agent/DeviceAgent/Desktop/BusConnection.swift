import Foundation
import NIOCore
import NIOPosix
import Notifications

/// A connection to a bus of D-Bus, over a Unix socket.
final class BusConnection: Sendable {
    /// How long a call may take. The notification service may have to be started first.
    private static let timeout = TimeAmount.seconds(20)

    private let channel: any Channel
    private let handler: NIOLoopBound<BusHandler>

    /// The path of the socket in a bus's address (the D-Bus Specification, "Server Addresses").
    /// - Returns: nil if the address names no file.
    static func path(in address: String) -> String? {
        for choice in address.split(separator: ";") where choice.hasPrefix("unix:") {
            for pair in choice.dropFirst("unix:".count).split(separator: ",") where pair.hasPrefix("path=") {
                return pair.dropFirst("path=".count).percentDecodedText
            }
        }
        return nil
    }

    /// Connects, authenticates as this process's user, and says hello.
    /// - Parameters:
    ///   - signal: called with each signal, on the connection's event loop.
    ///   - calls: called there with each call of another program. It returns the answer; nil if the answer is sent later.
    static func open(
        _ address: String,
        _ signal: @escaping @Sendable (BusMessage, BusReader) -> Void,
        calls: @escaping @Sendable (BusMessage, BusReader) -> BusMessage? = { message, _ in
            .error(BusMessage.ErrorName.unknownMethod, "There is no such method.", to: message)
        },
    ) async throws -> BusConnection {
        guard let path = path(in: address) else { throw BusError("the address \(address) names no Unix socket") }
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let connection = try await ClientBootstrap(group: eventLoop)
            .connectTimeout(timeout)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        BusHandler(user: UInt32(geteuid()), signal, calls))  // fits: uid_t has 32 bits
                }
            }
            .connect(unixDomainSocketPath: path)
            .flatMapThrowing { channel in
                let handler = try channel.pipeline.syncOperations.handler(type: BusHandler.self)
                return BusConnection(channel, NIOLoopBound(handler, eventLoop: channel.eventLoop))
            }
            .get()
        do {
            _ = try await connection.call(
                .call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello"))
        } catch {
            connection.close()
            throw error
        }
        return connection
    }

    private init(_ channel: any Channel, _ handler: NIOLoopBound<BusHandler>) {
        (self.channel, self.handler) = (channel, handler)
    }

    var isOpen: Bool { channel.isActive }

    /// Calls a method and returns the body of its answer.
    func call(_ message: BusMessage) async throws -> BusReader {
        try await channel.eventLoop.flatSubmit { [handler, channel] in
            let promise = channel.eventLoop.makePromise(of: BusReader.self)
            handler.value.call(message, timeout: Self.timeout, promise)
            return promise.futureResult
        }.get()
    }

    /// Sends a message that nobody answers: a signal, an answer, or a call that wants none.
    func send(_ message: BusMessage) async throws {
        try await channel.eventLoop.submit { [handler] in try handler.value.send(message) }.get()
    }

    /// Waits until the connection has ended.
    func closed() async {
        // The future does not fail.
        try? await channel.closeFuture.get()
    }

    /// Calls a function when the connection has ended.
    func whenClosed(_ body: @escaping @Sendable () -> Void) { channel.closeFuture.whenComplete { _ in body() } }

    func close() { channel.close(promise: nil) }
}

/// Speaks D-Bus on a channel. Confined to its event loop.
final class BusHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The longest line of the authentication, in bytes.
    private static let maximumLineBytes = 1024

    private let user: UInt32
    private let signal: (BusMessage, BusReader) -> Void
    private let answerTo: (BusMessage, BusReader) -> BusMessage?
    private var isAuthenticated = false
    private var received: [UInt8] = []
    private var lastSerial: UInt32 = 0
    private var calls: [UInt32: EventLoopPromise<BusReader>] = [:]
    /// The calls that were made before the authentication was complete.
    private var waiting: [[UInt8]] = []
    private var context: ChannelHandlerContext?

    init(
        user: UInt32,
        _ signal: @escaping (BusMessage, BusReader) -> Void,
        _ answerTo: @escaping (BusMessage, BusReader) -> BusMessage?,
    ) {
        (self.user, self.signal, self.answerTo) = (user, signal, answerTo)
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelActive(context: ChannelHandlerContext) {
        // The system tells the bus who this process is; the text only has to say the same (SASL EXTERNAL).
        let name = "\(user)".utf8.map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
        write(Array("\0AUTH EXTERNAL \(name)\r\n".utf8))
        context.fireChannelActive()
    }

    func send(_ message: BusMessage) throws(BusError) {
        guard let context, context.channel.isActive else { throw BusError("the bus is gone") }
        var message = message
        message.serial = nextSerial()
        if isAuthenticated { write(message.bytes) } else { waiting.append(message.bytes) }
    }

    private func nextSerial() -> UInt32 {
        lastSerial &+= 1
        // 0 is not allowed.
        if lastSerial == 0 { lastSerial = 1 }
        return lastSerial
    }

    func call(_ message: BusMessage, timeout: TimeAmount, _ promise: EventLoopPromise<BusReader>) {
        guard let context, context.channel.isActive else { return promise.fail(BusError("the bus is gone")) }
        var message = message
        let serial = nextSerial()
        message.serial = serial
        calls[serial] = promise
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let timer = context.eventLoop.scheduleTask(in: timeout) {
            bound.value.calls.removeValue(forKey: serial)?.fail(BusError("nobody answered in time"))
        }
        promise.futureResult.whenComplete { _ in timer.cancel() }
        if isAuthenticated { write(message.bytes) } else { waiting.append(message.bytes) }
    }

    private func write(_ bytes: [UInt8]) {
        context?.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += unwrapInboundIn(data).readableBytesView
        do throws(BusError) {
            if !isAuthenticated { try authenticate() }
            while isAuthenticated, let length = try BusMessage.length(of: received), received.count >= length {
                let bytes = Array(received[..<length])
                received.removeFirst(length)
                if let (message, body) = BusMessage.read(bytes) { handle(message, body) }
            }
        } catch {
            fail(error)
            context.close(promise: nil)
        }
    }

    private func authenticate() throws(BusError) {
        guard let end = received.firstIndex(of: UInt8(ascii: "\n")) else {
            guard received.count <= Self.maximumLineBytes else { throw BusError("the bus does not speak D-Bus") }
            return
        }
        let line = String(decoding: received[..<end], as: UTF8.self)
        guard line.hasPrefix("OK ") else { throw BusError("the bus does not let this user in") }
        received.removeFirst(end + 1)
        isAuthenticated = true
        write(Array("BEGIN\r\n".utf8))
        for message in waiting { write(message) }
        waiting = []
    }

    private func handle(_ message: BusMessage, _ body: BusReader) {
        switch message.kind {
        case .signal: signal(message, body)
        case .answer: message.replySerial.flatMap { calls.removeValue(forKey: $0) }?.succeed(body)
        case .error:
            let cause = message.errorName ?? "an error"
            message.replySerial.flatMap { calls.removeValue(forKey: $0) }?.fail(
                BusError("the answer is \(cause)"))
        case .call:
            guard let answer = answerTo(message, body), message.expectsAnswer else { return }
            // It cannot fail: the call has just come on this connection.
            try? send(answer)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(BusError("the bus has closed the connection"))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func fail(_ error: BusError) {
        let open = calls
        (calls, waiting) = ([:], [])
        for promise in open.values { promise.fail(error) }
    }
}
