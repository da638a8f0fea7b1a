import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import Testing

@testable import HTTPAPI

/// Which requests are refused before the server sees them.
struct RequestGuardTests {
    private let channel = EmbeddedChannel()
    private static let limits = RequestLimits(request: .seconds(10), bodyBytesPerSecond: 1024, answer: .seconds(30))

    private func addGuard() throws {
        try channel.pipeline.syncOperations.addHandlers([
            HTTP1ToHTTPServerCodec(secure: false), RequestGuard(Self.limits),
        ])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    private func send(_ target: String, _ method: HTTPMethod = .POST) throws {
        try channel.writeInbound(
            HTTPServerRequestPart.head(
                HTTPRequestHead(version: .http1_1, method: method, uri: target, headers: ["host": "127.0.0.1"])))
    }

    private func body(_ count: Int) throws {
        try channel.writeInbound(HTTPServerRequestPart.body(ByteBuffer(repeating: 0, count: count)))
    }

    private func answer() throws {
        try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .unauthorized)))
        try channel.writeOutbound(HTTPResponsePart.end(nil))
    }

    /// The head of the answer that the guard has sent; nil if it has sent none.
    private func head() throws -> HTTPResponseHead? {
        while let part = try channel.readOutbound(as: HTTPServerResponsePart.self) {
            if case .head(let head) = part { return head }
        }
        return nil
    }

    private func status() throws -> UInt? { try head()?.status.code }

    @Test func `An answer after which the connection ends says so, for the client's next request`() throws {
        try addGuard()
        try send("metrics")
        #expect(try head()?.headers["connection"] == ["close"])
    }

    @Test(arguments: [
        "ftp://127.0.0.1/", "http:///metrics", "http://me@127.0.0.1/", "evil.example:443", "metrics", "*",
    ])
    func `A target that is neither a path nor a whole URL is refused`(_ target: String) throws {
        try addGuard()
        try send(target, .GET)
        #expect(try status() == 400)
        #expect(try channel.readInbound(as: HTTPRequestPart.self) == nil)
        // Nothing that follows is read.
        try send("/", .GET)
        #expect(try channel.readInbound(as: HTTPRequestPart.self) == nil)
    }

    @Test(arguments: [
        ("http://evil.example/metrics?a=/b", "evil.example", "/metrics?a=/b"),
        ("HTTPS://[::1]:2198", "[::1]:2198", "/"), ("http://evil.example?a", "evil.example", "/?a"),
    ])
    func `The host of a whole URL takes the place of the field`(_ url: String, _ host: String, _ path: String) throws {
        try addGuard()
        try send(url, .GET)
        guard case .head(let head)? = try channel.readInbound(as: HTTPRequestPart.self) else {
            Issue.record("The request was not passed on.")
            return
        }
        #expect(head.authority == host && head.path == path)
    }

    @Test(
        arguments: [
            (nil, [], nil), ("127.0.0.1", ["evil.example"], nil), ("127.0.0.1", ["127.0.0.1", "127.0.0.2"], nil),
            ("", [], nil), ("a b", [], nil), (nil, ["a", "b"], nil), (nil, ["Example.com:1"], "Example.com:1"),
            ("127.0.0.1", ["127.0.0.1"], "127.0.0.1"),
        ] as [(String?, [String], String?)])
    func `A request over HTTP 2 has to name one host as well`(
        _ authority: String?, _ hosts: [String], _ named: String?
    )
        throws
    {
        var head = HTTPRequest(method: .get, scheme: "https", authority: authority, path: "/")
        let field = try #require(HTTPField.Name("host"))
        for host in hosts { head.headerFields.append(HTTPField(name: field, value: host)) }
        guard let named else {
            let problem = #expect(throws: Problem.self) { try RequestHeadRules.checked(head) }
            #expect(problem?.status == 400)
            return
        }
        let checked = try RequestHeadRules.checked(head)
        #expect(checked.authority == named && checked.headerFields.isEmpty)
    }

    @Test(arguments: ["/", "/v1/teams?after=http://evil.example/", "*"])
    func `A path is passed on as it is`(_ target: String) throws {
        try addGuard()
        try send(target, .OPTIONS)
        guard case .head(let head)? = try channel.readInbound(as: HTTPRequestPart.self) else {
            Issue.record("The request was not passed on.")
            return
        }
        #expect(head.path == target)
    }

    @Test func `A body that goes on after its answer is read to a limit, and then the connection ends`() throws {
        try addGuard()
        try send("/")
        try answer()
        try body(RequestLimits.drainedBytes)
        #expect(channel.isActive)
        try body(1)
        channel.embeddedEventLoop.advanceTime(by: RequestLimits.linger)
        #expect(!channel.isActive)
    }

    @Test func `Before its answer, a body may have any length`() throws {
        try addGuard()
        try send("/")
        for _ in 0..<3 { try body(RequestLimits.drainedBytes) }
        #expect(channel.isActive)
        try answer()
        #expect(channel.isActive)
    }

    @Test func `A body that arrives too slowly is refused, and one that is fast enough is not`() throws {
        try addGuard()
        try send("/")
        try body(2048)
        channel.embeddedEventLoop.advanceTime(by: .seconds(11))
        #expect(try status() == nil)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(try status() == 408)
    }
}
