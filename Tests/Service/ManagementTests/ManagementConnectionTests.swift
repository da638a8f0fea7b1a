import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@testable import Management

/// When a connection is closed, with a clock that the test sets.
struct ManagementConnectionTests {
    private let channel = EmbeddedChannel()

    private func connection(
        limit: Int = 10,
        isTrusted: @escaping () -> Bool = { true },
    ) throws -> ManagementConnection {
        try Self.connection(channel, in: ConnectionTable(limit: limit), isTrusted: isTrusted)
    }

    private static func connection(
        _ channel: EmbeddedChannel,
        in table: ConnectionTable,
        isTrusted: @escaping () -> Bool = { true },
    ) throws -> ManagementConnection {
        let connection = ManagementConnection(channel, in: table, isTrusted: isTrusted) { channel, requests in
            #expect(throws: Never.self) { try channel.pipeline.syncOperations.addHandler(requests) }
        }
        let added = try #require(connection)
        try added.addHandlers(to: channel.pipeline.syncOperations, before: BackPressureHandler())
        return added
    }

    private func isClosed(_ connection: ManagementConnection, after time: TimeAmount) throws -> Bool {
        let isClosed = NIOLoopBoundBox(false, eventLoop: channel.eventLoop)
        channel.closeFuture.whenComplete { _ in isClosed.value = true }
        channel.embeddedEventLoop.advanceTime(to: .uptimeNanoseconds(0) + time)
        connection.tick(now: channel.embeddedEventLoop.now)
        channel.embeddedEventLoop.run()
        return isClosed.value
    }

    private static let head = HTTPRequestPart.head(
        HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: "/"))

    private func answer() throws {
        try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
        try channel.writeOutbound(HTTPResponsePart.end(nil))
    }

    @Test func `A new connection without a request ends after ten seconds`() throws {
        let connection = try connection()
        #expect(try !isClosed(connection, after: .seconds(9)))
        #expect(try isClosed(connection, after: .seconds(12)))
    }

    @Test func `A request that does not end is cut off after ten seconds`() throws {
        let connection = try connection()
        try channel.writeInbound(Self.head)
        #expect(try !isClosed(connection, after: .seconds(9)))
        #expect(try isClosed(connection, after: .seconds(12)))
    }

    @Test func `A request that is being answered has no time limit`() throws {
        let connection = try connection()
        try channel.writeInbound(Self.head)
        try channel.writeInbound(HTTPRequestPart.end(nil))
        #expect(try !isClosed(connection, after: .minutes(60)))
    }

    @Test func `A client that sends too many requests ahead is disconnected`() throws {
        let connection = try connection()
        for _ in 0..<16 {
            try channel.writeInbound(Self.head)
            try channel.writeInbound(HTTPRequestPart.end(nil))
        }
        #expect(try !isClosed(connection, after: .seconds(1)))
        try channel.writeInbound(Self.head)
        #expect(try isClosed(connection, after: .seconds(1)))
    }

    @Test func `A client that waits for 100 (Continue) gets it`() throws {
        _ = try connection()
        var request = HTTPRequest(method: .post, scheme: "http", authority: "localhost", path: "/")
        request.headerFields[.expect] = "100-Continue"
        try channel.writeInbound(HTTPRequestPart.head(request))
        #expect(try channel.readOutbound(as: HTTPResponsePart.self) == .head(HTTPResponse(status: .continue)))
    }

    @Test func `A connection may be idle for two minutes between requests`() throws {
        let connection = try connection()
        try channel.writeInbound(Self.head)
        try channel.writeInbound(HTTPRequestPart.end(nil))
        try answer()
        #expect(try !isClosed(connection, after: .seconds(119)))
        #expect(try isClosed(connection, after: .seconds(125)))
    }

    @Test func `A client that does not read its answer is disconnected after thirty seconds`() throws {
        let connection = try connection()
        try channel.writeInbound(Self.head)
        try channel.writeInbound(HTTPRequestPart.end(nil))
        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        #expect(try !isClosed(connection, after: .seconds(29)))
        #expect(try isClosed(connection, after: .seconds(35)))
    }

    @Test func `A connection whose certificate was revoked ends, and a new one has a second for its request`() throws {
        let connection = try connection { false }
        #expect(try !isClosed(connection, after: .milliseconds(900)))
        #expect(try isClosed(connection, after: .seconds(2)))
    }

    @Test func `A stream that began before its certificate was revoked ends at the next check`() throws {
        var isTrusted = true
        let connection = try connection { isTrusted }
        try channel.writeInbound(Self.head)
        try channel.writeInbound(HTTPRequestPart.end(nil))
        try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
        #expect(try !isClosed(connection, after: .minutes(1)))
        isTrusted = false
        #expect(try isClosed(connection, after: .minutes(1) + .seconds(1)))
    }

    @Test func `The answer to the request that revokes the certificate is sent, and is the last one`() throws {
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        var isTrusted = true
        let connection = try connection { isTrusted }
        try channel.writeInbound(Self.head)
        try channel.writeInbound(HTTPRequestPart.end(nil))
        isTrusted = false
        #expect(try !isClosed(connection, after: .milliseconds(900)))
        try answer()
        #expect(try channel.readOutbound(as: HTTPResponsePart.self) == .head(HTTPResponse(status: .ok)))
        #expect(!channel.isActive)
    }

    @Test func `Requests sent ahead do not prolong a connection whose certificate was revoked`() throws {
        let connection = try connection { false }
        for _ in 0..<2 {
            try channel.writeInbound(Self.head)
            try channel.writeInbound(HTTPRequestPart.end(nil))
        }
        // The connection notices the revocation two seconds before the second answer begins.
        #expect(try !isClosed(connection, after: .zero))
        channel.embeddedEventLoop.advanceTime(by: .seconds(2))
        try answer()
        #expect(try isClosed(connection, after: .seconds(2)))
    }

    @Test func `A connection that is trusted again goes on until its next answer`() throws {
        var isTrusted = false
        let connection = try connection { isTrusted }
        #expect(try !isClosed(connection, after: .milliseconds(900)))
        isTrusted = true
        #expect(try !isClosed(connection, after: .seconds(2)))
        #expect(try !isClosed(connection, after: .seconds(9)))
    }

    @Test func `A listener that shuts down closes idle connections at once, and others after their answer`() throws {
        let idle = try connection()
        idle.drain()
        channel.embeddedEventLoop.run()
        #expect(!channel.isActive)

        let other = EmbeddedChannel()
        let busy = try Self.connection(other, in: ConnectionTable(limit: 10))
        try other.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try other.writeInbound(Self.head)
        try other.writeInbound(HTTPRequestPart.end(nil))
        busy.drain()
        #expect(other.isActive)
        try other.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
        try other.writeOutbound(HTTPResponsePart.end(nil))
        #expect(!other.isActive)
    }

    @Test func `If there are too many connections, the one idle for longest is closed, and never a busy one`() throws {
        let table = ConnectionTable(limit: 2)
        let channels = (0..<4).map { _ in EmbeddedChannel() }
        let closed = channels.map { NIOLoopBoundBox(false, eventLoop: $0.eventLoop) }
        for (channel, isClosed) in zip(channels, closed) {
            channel.closeFuture.whenComplete { _ in isClosed.value = true }
        }
        let entries = channels.enumerated().map {
            ConnectionTable.Entry($0.element, now: .uptimeNanoseconds(0) + .seconds(Int64($0.offset)))
        }
        for (second, entry) in entries.enumerated() {
            entry.setIdle(since: .uptimeNanoseconds(0) + .seconds(Int64(second)))
        }
        #expect(table.add(entries[0]) && table.add(entries[1]))
        entries[0].setIdle(since: nil)
        #expect(table.add(entries[2]))
        for channel in channels { channel.embeddedEventLoop.run() }
        #expect(closed.map(\.value) == [false, true, false, false])
        entries[2].setIdle(since: nil)
        #expect(!table.add(entries[3]))
        table.remove(entries[0])
        #expect(table.add(entries[3]))
    }

    /// An entry of a channel that tells whether it was closed.
    private func entry(
        at time: TimeAmount, in table: ConnectionTable
    ) -> (entry: ConnectionTable.Entry, isAdmitted: Bool, isClosed: () -> Bool) {
        let channel = EmbeddedChannel()
        let closed = NIOLoopBoundBox(false, eventLoop: channel.eventLoop)
        channel.closeFuture.whenComplete { _ in closed.value = true }
        let entry = ConnectionTable.Entry(channel, now: .uptimeNanoseconds(0) + time)
        return (
            entry, table.add(entry),
            {
                channel.embeddedEventLoop.run()
                return closed.value
            }
        )
    }

    @Test func `If many clients connect at the same moment, none of them is closed for another`() {
        let table = ConnectionTable(limit: 2)
        let all = (0..<100).map { entry(at: .milliseconds($0), in: table) }
        let isOpen = all.map { $0.isAdmitted && !$0.isClosed() }
        #expect(!isOpen.contains(false))
        // Those that are still silent when others come later give way, the oldest first.
        let later = (0..<2).map { entry(at: .milliseconds(2001 + $0), in: table) }
        let isLaterOpen = later.map { $0.isAdmitted && !$0.isClosed() }
        let isClosed = all.prefix(4).map { $0.isClosed() }
        #expect(!isLaterOpen.contains(false) && isClosed == [true, true, false, false])
    }

    @Test func `New connections that send nothing lock nobody out`() {
        let table = ConnectionTable(limit: 2)
        let all = (0...2 + ManagementLimits.newConnections).map { _ in entry(at: .zero, in: table) }
        let areAdmitted = all.allSatisfy { $0.isAdmitted }
        #expect(areAdmitted)
        let closed = all.filter { $0.isClosed() }
        #expect(closed.count == 1)
        for other in all { other.entry.setIdle(since: nil) }
        let refused = entry(at: .zero, in: table)
        #expect(!refused.isAdmitted)
    }
}
