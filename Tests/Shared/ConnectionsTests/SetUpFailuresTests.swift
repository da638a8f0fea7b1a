import Foundation
import InMemoryLogging
import Logging
import NIOCore
import NIOEmbedded
import Testing

@testable import Connections

@Suite(.timeLimit(.minutes(1))) struct SetUpFailuresTests {
    @Test func `If a connection's socket does not accept an option, this is logged only once`()
        throws
    {
        let lines = InMemoryLogHandler()
        let channel = EmbeddedChannel(
            handler: SetUpFailures(ConnectionLog(Logger(label: "test") { _ in lines })))
        channel.pipeline.fireErrorCaught(IOError(errnoCode: EINVAL, reason: "setsockopt"))
        channel.pipeline.fireErrorCaught(SetUpFailure())
        #expect(lines.entries.map { $0.metadata["cause"] } == ["Invalid argument"])
        for _ in 0..<1000 { channel.pipeline.fireErrorCaught(IOError(errnoCode: EINVAL, reason: "setsockopt")) }
        #expect((5..<500).contains(lines.entries.count))
        _ = try channel.finish()
    }

    @Test(arguments: [TooManyConnections() as any Error, ChannelError.operationUnsupported])
    func `For a connection that a limit refuses, only the limit is logged`(error: any Error) throws {
        let lines = InMemoryLogHandler()
        let log = ConnectionLog(Logger(label: "test") { _ in lines })
        let channel = EmbeddedChannel()
        let setUp = SetUpFailure.reporting(channel, to: log) { throw error }
        #expect(throws: SetUpFailure.self) { try setUp.wait() }
        #expect(lines.entries.isEmpty == (error is TooManyConnections))
    }
}
