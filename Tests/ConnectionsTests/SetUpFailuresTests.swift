import Dispatch
import Logging
import NIOCore
import NIOEmbedded
import NIOPosix
import Synchronization
import Testing

@testable import Connections

@Suite(.timeLimit(.minutes(1))) struct SetUpFailuresTests {
    /// Hands out two event loops and names one of them, so the connections of the other cannot be set up.
    private final class LyingGroup: EventLoopGroup {
        private let group: MultiThreadedEventLoopGroup
        private let loops: [any EventLoop]

        init(_ group: MultiThreadedEventLoopGroup) {
            self.group = group
            loops = Array(group.makeIterator())
        }

        func next() -> any EventLoop { loops[1] }
        func any() -> any EventLoop { loops[1] }
        func makeIterator() -> EventLoopIterator { EventLoopIterator([loops[0]]) }
        func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
            group.shutdownGracefully(queue: queue, callback)
        }
    }

    /// Never answers.
    private final class Silence: ConnectionService {
        func admit(_ chain: [[UInt8]]) throws -> Never { throw NoCertificateExpected() }
        func open(_ accepted: AcceptedConnection, from peer: Never?) -> (any ServedConnection)? { nil }
    }

    @Test func `A connection that cannot be set up is closed and logged with its peer, and many of them now and then`()
        async throws
    {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        let lines = LoggedLines()
        let listener = try await Listener.bind(
            .always(Silence()), to: .tcp(host: "127.0.0.1", port: 0), tls: nil, group: LyingGroup(group),
            logger: Logger(label: "test") { _ in lines })
        for _ in 0..<50 {
            let client = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(to: try #require(listener.localAddress)).get()
            try await client.closeFuture.get()
        }
        await listener.shutDown(within: .zero)
        try await group.shutdownGracefully()
        // Five, and on a slow machine a few more.
        #expect((1..<40).contains(lines.all.count))
        #expect(lines.all.allSatisfy { $0["peer"] == "127.0.0.1" })
        #expect(lines.all.first?["cause"] != nil)
    }

    @Test func `An option that a connection's socket does not take is logged, and what was logged is not logged twice`()
        throws
    {
        let lines = LoggedLines()
        let channel = EmbeddedChannel(
            handler: SetUpFailures(ConnectionLog(Logger(label: "test") { _ in lines })))
        channel.pipeline.fireErrorCaught(IOError(errnoCode: EINVAL, reason: "setsockopt"))
        channel.pipeline.fireErrorCaught(SetUpFailure())
        #expect(lines.all.map { $0["cause"] } == ["Invalid argument"])
        for _ in 0..<1000 { channel.pipeline.fireErrorCaught(IOError(errnoCode: EINVAL, reason: "setsockopt")) }
        #expect((5..<500).contains(lines.all.count))
        _ = try channel.finish()
    }

    @Test(arguments: [TooManyConnections() as any Error, ChannelError.operationUnsupported])
    func `A connection that a limit refuses has the limit's line alone`(error: any Error) throws {
        let lines = LoggedLines()
        let log = ConnectionLog(Logger(label: "test") { _ in lines })
        let channel = EmbeddedChannel()
        let setUp = SetUpFailure.reporting(channel, to: log) { throw error }
        #expect(throws: SetUpFailure.self) { try setUp.wait() }
        #expect(lines.all.isEmpty == (error is TooManyConnections))
    }
}
