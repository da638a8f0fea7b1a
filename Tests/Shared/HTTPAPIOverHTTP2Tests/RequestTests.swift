import HTTP2
import HTTPAPI
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization
import Testing

@testable import ServiceTesting

/// What an API gets of a request over HTTP/2.
@Suite(.timeLimit(.minutes(2)))
struct RequestTests {
    private static func text(_ text: String) -> Response {
        Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    private static func echo(_ request: Request) async throws -> Response {
        var body = ByteBuffer()
        for try await part in request.body { body.writeImmutableBuffer(part) }
        return Response(status: .ok, body: ResponseBody(byteBuffer: body))
    }

    @Test func `A request has its method, scheme, host, path, fields and cookies`() async throws {
        try await RequestServer.run { request in
            let parts = [
                request.method.rawValue, request.head.scheme, request.head.authority, request.head.path,
                request.uri.path, request.headers[.cookie], request.headers[.userAgent],
            ]
            return Self.text(parts.map { $0 ?? "none" }.joined(separator: "|"))
        } _: { server in
            let client = try await server.connect()
            let fields = RequestServer.fields(
                "PATCH", "/a/b?c=d", [("cookie", "a=1"), ("user-agent", " me "), ("cookie", "b=2")])
            // The second request repeats the fields of the first, and the third has others in their places.
            for _ in 0..<2 {
                #expect(
                    try await client.send(fields).body == "PATCH|https|example.com|/a/b?c=d|/a/b|a=1; b=2|me")
            }
            let other = RequestServer.fields("PATCH", "/a", [("cookie", "a=1"), ("cookie", "c=2")])
            #expect(try await client.send(other).body == "PATCH|https|example.com|/a|/a|a=1; c=2|none")
            await client.close()
        }
    }

    @Test func `The field Host takes the place of a missing authority, and has to agree with one that is there`()
        async throws
    {
        try await RequestServer.run { request in
            Self.text("\(request.head.authority ?? "none") \(request.headers.count)")
        } _: { server in
            let client = try await server.connect()
            let fields = [(":method", "GET"), (":scheme", "https"), (":path", "/")]
            #expect(try await client.send(fields + [("host", "example.com:1")], body: "").body == "example.com:1 0")
            #expect(server.malformed == 0)
            let refused = try await client.send(fields + [("host", "me@example.com")], body: "")
            #expect(refused.status == 400 || refused.error != .noError)
            #expect(server.malformed == 1)
            #expect(try await client.send(fields + [("host", "example.com:1")], body: "").status == 200)
            await client.close()
        }
    }

    @Test func `A body is read whether it has arrived before its request begins or not`() async throws {
        try await RequestServer.run(respond: Self.echo) { server in
            let client = try await server.connect()
            #expect(try await client.send(RequestServer.fields("POST"), body: "whole").body == "whole")
            let open = try await client.open(RequestServer.fields("POST"), endStream: false)
            try await open.write("in ")
            try await open.write("parts")
            #expect(try await open.finish().body == "in parts")
            #expect(try await client.send(RequestServer.fields("POST"), body: "").body == "")
            await client.close()
        }
    }

    @Test func `A body that the API does not read waits at the client, and none of it is lost`() async throws {
        let (began, read) = (Gate(), Gate())
        try await RequestServer.run { request in
            began.open()
            await read.wait()
            var count = 0
            for try await part in request.body { count += part.readableBytes }
            return Self.text("\(count)")
        } _: { server in
            let client = try await server.connect()
            let open = try await client.open(RequestServer.fields("POST"), endStream: false)
            try await open.write([UInt8](repeating: 7, count: 1_000_000))
            await began.wait()
            // Other requests are answered meanwhile.
            let other = try await client.begin(RequestServer.fields("POST"), ends: true)
            read.open()
            #expect(try await open.finish().body == "1000000")
            #expect(try await other.answer().body == "0")
            await client.close()
        }
    }

    @Test func `An answer that comes before the end of its request is complete, and others follow`() async throws {
        try await RequestServer.run { _ in
            Response(status: .unauthorized)
        } _: { server in
            let client = try await server.connect()
            for _ in 0..<3 {
                let open = try await client.open(RequestServer.fields("POST"), endStream: false)
                try await open.write([UInt8](repeating: 7, count: 100_000))
                #expect(try await open.answer().status == 401)
            }
            await client.close()
        }
    }

    @Test(arguments: [true, false]) func `Fields that are too long or too many are 431, and the next request is served`(
        _ areMany: Bool
    ) async throws {
        try await RequestServer.run(respond: Self.echo) { server in
            let client = try await server.connect()
            let value = String(repeating: "a", count: RequestLimits.headerBytes)
            let more =
                areMany ? (0...RequestLimits.headerFields).map { ("x-\($0)", "1") } : [("x", value)]
            let refused = try await client.send(RequestServer.fields("POST", "/", more), body: "hello")
            #expect(refused.status == 431 && refused["content-type"] == Problem.mediaType)
            #expect(refused["vary"] == "everywhere" && refused.body.contains("\(RequestLimits.headerBytes)"))
            #expect(try await client.send(RequestServer.fields("POST"), body: "hello").body == "hello")
            // A browser may send each cookie in a field of its own (RFC 9113, 8.2.3).
            let cookies = (0...RequestLimits.headerFields).map { ("cookie", "\($0)=1") }
            #expect(try await client.send(RequestServer.fields("POST", "/", cookies), body: "hello").body == "hello")
            await client.close()
        }
    }

    @Test func `A malformed request is reset alone and counted`() async throws {
        let (began, read) = (Gate(), Gate())
        try await RequestServer.run { request in
            guard request.uri.path == "/wait" else { return Self.text("") }
            began.open()
            await read.wait()
            return Self.text("answered")
        } _: { server in
            let client = try await server.connect()
            let waiting = try await client.begin(RequestServer.fields("GET", "/wait"), ends: true)
            await began.wait()
            let malformed = try await client.send(RequestServer.fields("POST", "/", [("content-length", "9")]))
            #expect(malformed.error == .protocolError)
            #expect(server.malformed == 1)
            read.open()
            #expect(try await waiting.answer().body == "answered")
            #expect(try await client.announcements() == [100])
            await client.close()
        }
    }

    @Test func `A request that arrives too slowly is 408, and others are served`() async throws {
        var limits = RequestServer.limits
        limits.request = .seconds(1)
        try await RequestServer.run(limits, respond: Self.echo) { server in
            let client = try await server.connect()
            let slow = try await client.open(RequestServer.fields("POST"), endStream: false)
            try await slow.write("{")
            let answer = try await slow.answer()
            #expect(answer.status == 408 && answer.body.contains("too slowly"))
            #expect(try await client.send(RequestServer.fields("POST"), body: "hello").body == "hello")
            await client.close()
        }
    }

    @Test func `A client that opens and resets streams without end loses its connection, and no task is left`()
        async throws
    {
        try await RequestServer.run(respond: Self.echo) { server in
            let client = try await server.connect()
            try await client.openAndReset(RequestServer.fields("POST"), times: 10_000)
            #expect(try await !client.goAwayFrames().isEmpty)
            let other = try await server.connect()
            #expect(try await other.send(RequestServer.fields("POST"), body: "hello").body == "hello")
            await other.close()
        }
    }

    @Test func `An API learns that its client has gone while it reads a body`() async throws {
        let (began, ended) = (Gate(), Gate())
        try await RequestServer.run { request in
            began.open()
            do {
                for try await _ in request.body {}
            } catch {
                ended.open()
            }
            return Self.text("")
        } _: { server in
            let client = try await server.connect()
            _ = try await client.open(RequestServer.fields("POST"), endStream: false)
            await began.wait()
            await client.close()
            await ended.wait()
        }
    }
}
