import CommonTesting
import HTTP2
import HTTPAPI
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization
import Testing

@testable import ServiceTesting

/// What a client gets of an API's answer over HTTP/2.
@Suite(.timeLimit(.minutes(2)))
struct AnswerTests {
    private static let lines = (0..<2_000).map { "\($0) \(String(repeating: "a", count: 500))\n" }

    @Test(arguments: [1_000, 65_535]) func `An answer of any length arrives, as fast as the client reads it`(
        _ windowBytes: Int
    ) async throws {
        try await RequestServer.run { request in
            switch request.uri.path {
            case "/stream":
                Response(
                    status: .ok,
                    body: ResponseBody { writer in
                        for line in Self.lines { try await writer.write(ByteBuffer(string: line)) }
                        try await writer.finish(nil)
                    })
            default: Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(string: Self.lines.joined())))
            }
        } _: { server in
            let client = try await server.connect(windowBytes: windowBytes)
            for path in ["/stream", "/whole"] {
                let answer = try await client.send(RequestServer.fields("GET", path), body: "")
                #expect(answer.body == Self.lines.joined() && answer.error == .noError, "\(path)")
                let length = path == "/whole" ? "\(Self.lines.joined().utf8.count)" : nil
                #expect(answer["content-length"] == length)
            }
            await client.close()
        }
    }

    @Test func `A line of an answer arrives before the next is written`() async throws {
        let next = Gate()
        try await RequestServer.run { _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: "one\n"))
                    await next.wait()
                    try await writer.write(ByteBuffer(string: "two\n"))
                    try await writer.finish(nil)
                })
        } _: { server in
            let client = try await server.connect()
            let open = try await client.open(RequestServer.fields(), endStream: true)
            #expect(try await open.nextLine() == "one")
            next.open()
            #expect(try await open.nextLine() == "two")
            #expect(try await open.answer().status == 200)
            await client.close()
        }
    }

    @Test func `The answer to HEAD has the fields of the one to GET, and no body`() async throws {
        try await RequestServer.run { request in
            let response = Response(
                status: .ok, headers: [.eTag: "x", .connection: "close"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: "hello")))
            return request.uri.path == "/head" ? response.createHeadResponse() : response
        } _: { server in
            let client = try await server.connect()
            for (method, path) in [("GET", "/"), ("HEAD", "/"), ("HEAD", "/head")] {
                let open = try await client.open(RequestServer.fields(method, path), endStream: true)
                let answer = try await open.answer()
                #expect(answer.body == (method == "GET" ? "hello" : ""))
                #expect(answer["content-length"] == "5" && answer["etag"] == "x" && answer["connection"] == nil)
            }
            await client.close()
        }
    }

    @Test func `An answer that fails before it begins is 500, and one that breaks off is reset`() async throws {
        try await RequestServer.run { request in
            guard request.uri.path == "/late" else { throw RequestServerFault() }
            return Response(
                status: .ok,
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: "begun"))
                    throw RequestServerFault()
                })
        } _: { server in
            let client = try await server.connect()
            #expect(try await client.send(RequestServer.fields()).status == 500)
            let late = try await client.send(RequestServer.fields("GET", "/late"))
            #expect(late.status == 200 && late.error == .internalError)
            #expect(try await client.send(RequestServer.fields()).status == 500)
            await client.close()
        }
    }

    private struct RequestServerFault: Error {}

    @Test func `An API whose client does not read learns that its stream was reset`() async throws {
        var limits = RequestServer.limits
        limits.answer = .seconds(1)
        let ended = Gate()
        try await RequestServer.run(limits) { _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    do {
                        while true { try await writer.write(ByteBuffer(repeating: 7, count: 100_000)) }
                    } catch {
                        ended.open()
                    }
                })
        } _: { server in
            let client = try await ByteClient.connect(
                port: server.port, authorityFile: server.authorityFile, protocols: ["h2"])
            try await client.stopReading()
            try await client.write(Frames.preface + Frames.get(stream: 1))
            await ended.wait()
            await client.close()
        }
    }

    @Test func `A client that waits for 100 gets it before it sends its body`() async throws {
        try await RequestServer.run { request in
            let body = try await request.body.collect(upTo: 100)
            return Response(status: .ok, body: ResponseBody(byteBuffer: body))
        } _: { server in
            let client = try await ByteClient.connect(
                port: server.port, authorityFile: server.authorityFile, protocols: ["h2"])
            try await client.write(Frames.preface + Frames.expecting(stream: 1))
            // The interim response does not end the stream.
            #expect(try await Frames.nextFields(client).endsStream == false)
            try await client.write(Frames.frame(type: 0, flags: 1, stream: 1, Array("hello".utf8)))
            #expect(try await Frames.nextFields(client).endsStream == false)
            await client.close()
        }
    }

    @Test func `When the server ends, an open request is answered, and GOAWAY follows`() async throws {
        let (began, next) = (Gate(), Gate())
        try await RequestServer.run { request in
            if request.uri.path == "/open" {
                began.open()
                await next.wait()
            }
            return Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(string: "answered")))
        } _: { server in
            let client = try await server.connect()
            let open = try await client.begin(RequestServer.fields("GET", "/open"), ends: true)
            await began.wait()
            try await server.quiesce()
            // What comes after the end began can be sent again elsewhere. The connection hears of it a moment later.
            try await wait(while: try await client.send(RequestServer.fields()).error != .refusedStream)
            next.open()
            #expect(try await open.answer().body == "answered")
            #expect(try await client.goAwayFrames().count == 1)
        }
    }

    @Test func `A connection that is idle ends with GOAWAY`() async throws {
        try await RequestServer.run(idle: .seconds(1)) { _ in
            Response(status: .noContent)
        } _: { server in
            let client = try await server.connect()
            #expect(try await client.goAwayFrames().count == 1)
        }
    }
}
