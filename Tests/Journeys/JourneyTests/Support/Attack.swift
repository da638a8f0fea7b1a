import CommonTesting
import NIOCore
import NIOPosix
import NIOSSL
import Testing

@testable import ServiceTesting

/// An attacking HTTP/2 client: it connects and sends the same thing again and again.
struct Attack: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Whether the service ends the connection before everything was sent.
    let isEnded: Bool
    /// Sent once, after the preface.
    let opening: [UInt8]
    /// Returns what to send repeatedly, by the number of the repetition.
    let wave: @Sendable (Int) -> [UInt8]
    /// How often the bytes are sent if nothing ends the connection.
    let waves: Int

    init(
        _ name: String,
        isEnded: Bool = true,
        opening: [UInt8] = Self.settings,
        waves: Int = 2000,
        _ wave: @escaping @Sendable (Int) -> [UInt8],
    ) {
        testDescription = name
        self.isEnded = isEnded
        self.opening = opening
        self.waves = waves
        self.wave = wave
    }

    static let all = [
        Attack("rapid reset (CVE-2023-44487)") { wave in
            (0..<50).flatMap { index in
                let stream = Int32(truncatingIfNeeded: (wave * 50 + index) * 2 + 1)
                return frame(.headers, flags: endHeaders, stream, request) + frame(.reset, stream, [0, 0, 0, 8])
            }
        },
        Attack("a flood of CONTINUATION", opening: settings + frame(.headers, 1, request)) { _ in
            (0..<50).flatMap { _ in frame(.continuation, 1, []) }
        },
        Attack("a flood of SETTINGS") { _ in (0..<50).flatMap { _ in settings } },
        Attack("a flood of PING") { _ in
            (0..<50).flatMap { _ in frame(.ping, 0, [UInt8](repeating: 1, count: 8)) }
        },
        Attack("a flood of PRIORITY") { _ in
            (0..<200).flatMap { _ in frame(.priority, 1, [0, 0, 0, 3, 16]) }
        },
        // So many that a busy machine sends more than the 64 KiB a second that may follow an answer.
        Attack("a flood of empty DATA", opening: settings + frame(.headers, flags: endHeaders, 1, request)) { _ in
            (0..<2000).flatMap { _ in frame(.data, 1, []) }
        },
        Attack("an HPACK bomb", opening: settings) { wave in
            // A field of 4,000 bytes that enters the table, followed by thousands of references to it of one byte each
            // (RFC 7541, 7.3).
            let stream = Int32(truncatingIfNeeded: wave * 2 + 1)
            let field = [0x40, 1, UInt8(ascii: "x"), 0x7f, 0xa1, 0x1e] + [UInt8](repeating: 0x61, count: 4000)
            let bomb = request + field + [UInt8](repeating: 0xbe, count: 12_000)
            return frame(.headers, flags: endHeaders, stream, bomb)
        },
        // More than any body may have, and more than may follow its answer.
        Attack("frames of one byte", opening: settings + frame(.headers, flags: endHeaders, 1, request)) { _ in
            (0..<2000).flatMap { _ in frame(.data, 1, [0x7b]) }
        },
        // Each answer has a body, but the client gives it no room.
        Attack("a window that never opens", isEnded: false, opening: closedWindow, waves: 20) { wave in
            (0..<10).flatMap { index in
                let stream = Int32(truncatingIfNeeded: (wave * 10 + index) * 2 + 1)
                return frame(.headers, flags: endHeaders | endStream, stream, request)
            }
        },
    ]

    /// Connects, and sends until everything is sent or the connection is closed.
    /// - Returns: the connection.
    func run(against address: String) async throws -> any Channel {
        let parts = address.split(separator: ":")
        guard parts.count == 2, let port = Int(parts[1]) else { throw UnexpectedOutput(description: address) }
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.certificateVerification = .none
        tls.applicationProtocols = ["h2"]
        let context = try NIOSSLContext(configuration: tls)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = try NIOSSLClientHandler(context: context, serverHostname: nil)
                    try channel.pipeline.syncOperations.addHandlers([handler, Deafness()])
                }
            }
            .connect(host: String(parts[0]), port: port).get()
        do {
            try await channel.writeAndFlush(ByteBuffer(bytes: Self.preface + opening))
            for wave in 0..<waves { try await channel.writeAndFlush(ByteBuffer(bytes: self.wave(wave))) }
        } catch {
            // The service closed the connection, as it should.
        }
        return channel
    }

    // MARK: Frames (RFC 9113, 4.1 and 6)

    private enum Kind: UInt8 {
        case data, headers, priority, reset, settings, push, ping, goAway, window, continuation
    }

    private static let endStream: UInt8 = 0x1
    private static let endHeaders: UInt8 = 0x4
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    private static let settings = frame(.settings, 0, [])
    /// SETTINGS_INITIAL_WINDOW_SIZE of 0.
    private static let closedWindow = frame(.settings, 0, [0, 4, 0, 0, 0, 0])
    /// `:method POST`, `:scheme https`, `:path /`, from the static table (RFC 7541, A).
    private static let request: [UInt8] = [0x83, 0x87, 0x84]

    private static func frame(_ kind: Kind, flags: UInt8 = 0, _ stream: Int32, _ payload: [UInt8]) -> [UInt8] {
        let count = UInt32(payload.count)
        let head = [
            UInt8(count >> 16 & 0xff), UInt8(count >> 8 & 0xff), UInt8(count & 0xff), kind.rawValue, flags,
        ]
        return head + withUnsafeBytes(of: stream.bigEndian) { Array($0) } + payload
    }
}

/// Drops everything that arrives.
private final class Deafness: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
