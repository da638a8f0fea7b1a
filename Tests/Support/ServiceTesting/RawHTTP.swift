import NIOCore
import NIOPosix

/// Requests over HTTP/1.1 that no HTTP library would send, as bytes.
enum RawHTTP {
    /// Sends bytes over a new connection, and reads until the server ends it.
    /// - Returns: The statuses of all answers.
    static func statuses(_ bytes: String, at address: SocketAddress) async throws -> [Int] {
        let text = try await exchange(bytes, at: address)
        return text.matches(of: #/HTTP/1\.[01] (\d{3}) /#).compactMap { Int($0.1) }
    }

    /// Sends bytes over a new connection, and reads until the server ends it.
    /// - Returns: What the server has sent.
    static func exchange(_ sent: String, at address: SocketAddress) async throws -> String {
        let (arriving, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Arrivals(continuation))
                }
            }
            .connect(to: address).get()
        try await channel.writeAndFlush(ByteBuffer(string: sent))
        var bytes: [UInt8] = []
        for await part in arriving { bytes += part }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A request, and the statuses of all answers that it may get. Each begins another request behind the first, which must
    /// get none.
    struct Case: Sendable {
        let name: String
        let bytes: @Sendable (_ path: String) -> String
        let statuses: [Int]

        init(_ name: String, _ statuses: [Int], _ bytes: @escaping @Sendable (String) -> String) {
            (self.name, self.statuses, self.bytes) = (name, statuses, bytes)
        }
    }

    private static let next = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"

    private static func get(_ name: String, _ statuses: [Int], _ fields: String...) -> Case {
        Case(name, statuses) { path in
            "GET \(path) HTTP/1.1\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n" + next
        }
    }

    private static func target(_ target: @escaping @Sendable (String) -> String) -> Case {
        Case(target("PATH"), [400]) { "GET \(target($0)) HTTP/1.1\r\nhost: localhost\r\n\r\n" + next }
    }

    private static func coded(_ name: String, _ status: Int, _ fields: [String], _ body: String) -> Case {
        Case(name, [status]) { path in
            "POST \(path) HTTP/1.1\r\nhost: localhost\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n" + body + next
        }
    }

    /// What every server refuses on a Unix socket too, where a request may lack the host.
    static let refusedOnSockets = refused.filter { $0.name != "no host" }

    /// What every server refuses (RFC 9112, 3.2, 6.1 and 6.3).
    static let refused: [Case] = [
        get("no host", [400]), get("two hosts", [400], "host: localhost", "host: evil.example"),
        get("the same host twice", [400], "host: localhost", "Host: localhost"),
        get("a blank in the host", [400], "host: local host"), get("a path in the host", [400], "host: localhost/x"),
        get("a user in the host", [400], "host: a@localhost"), get("an open bracket", [400], "host: [::1"),
        get("text behind the bracket", [400], "host: [::1]x"), get("a name as port", [400], "host: localhost:x"),
        get("a port that is too great", [400], "host: localhost:65536"), get("half an escape", [400], "host: a%2"),
        get("letters of other scripts", [400], "host: l\u{f6}calhost"),
        target { "http://" + $0 }, target { "ftp://localhost" + $0 }, target { "http://a@localhost" + $0 },
        target { "http://localhost:x" + $0 }, target { _ in "localhost:443" }, target { _ in "*" },
        coded("an empty transfer coding", 400, ["transfer-encoding:"], ""),
        coded("an unknown transfer coding", 400, ["transfer-encoding: x"], ""),
        coded("an unknown one before chunked", 501, ["transfer-encoding: x, chunked"], "0\r\n\r\n"),
        coded("two fields", 501, ["transfer-encoding: x", "transfer-encoding: chunked"], "0\r\n\r\n"),
        coded("an unknown one after chunked", 400, ["transfer-encoding: chunked, x"], "0\r\n\r\n"),
        coded("chunked twice", 400, ["transfer-encoding: chunked, chunked"], "0\r\n\r\n"),
        coded("an empty one", 400, ["transfer-encoding: , chunked"], "0\r\n\r\n"),
        coded("a length as well", 400, ["transfer-encoding: chunked", "content-length: 5"], "0\r\n\r\n"),
        coded("two lengths", 400, ["content-length: 5", "content-length: 6"], "123456"),
        Case("chunked in HTTP/1.0", [400]) { path in
            "POST \(path) HTTP/1.0\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n" + next
        },
        Case("no request", [400]) { _ in "GET\r\n\r\n" + next },
    ]

    /// Last requests of a connection: after the answer to each, the server ends the connection, whatever is sent behind it.
    static func last(_ path: String) -> [String] {
        [
            "GET \(path) HTTP/1.0\r\nhost: localhost\r\n\r\n",
            "GET \(path) HTTP/1.0\r\nhost: localhost\r\nconnection: keep-alive\r\n\r\n",
            "GET \(path) HTTP/1.1\r\nhost: localhost\r\nConnection: Close\r\n\r\n",
            "GET \(path) HTTP/1.1\r\nhost: localhost\r\nconnection: te, close\r\n\r\n",
            "GET \(path) HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\nnonsense\r\n\r\n",
            // The body is longer than it says, so the rest is no request.
            "GET \(path) HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\n\r\nabcd\r\n\r\n",
            "GET \(path) HTTP/1.0\r\nhost: localhost\r\n\r\nGET \(path) HTTP/1.0\r\nhost: localhost\r\n\r\n",
        ]
    }

    /// A body in chunks that breaks off. The server may have answered before it comes there, but answers once.
    static func brokenChunk(_ path: String) -> String {
        "POST \(path) HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            + "transfer-encoding: chunked\r\n\r\n2\r\n{}\r\nzz\r\n" + next
    }

    /// A request for a whole URL, as the last of its connection.
    static func absolute(_ url: String, host: String) -> String {
        "GET \(url) HTTP/1.1\r\nhost: \(host)\r\nconnection: close\r\n\r\n"
    }
}
