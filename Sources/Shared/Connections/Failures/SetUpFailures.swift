import NIOCore

/// Logs connections that were accepted and could not be set up. The last handler of a listener's own channel, where the
/// failures arrive after the connections were closed.
final class SetUpFailures: ChannelInboundHandler, Sendable {
    typealias InboundIn = any Channel

    private let log: ConnectionLog

    init(_ log: ConnectionLog) { self.log = log }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Do not pass this error on, because this is the last handler of the pipeline.
        guard !(error is SetUpFailure) else { return }
        log.report(SetUpFailure.message, peer: nil) { ConnectionFailure.cause(of: error) }
    }
}

/// A connection's handlers could not be added. It was logged, or a limit has counted it.
struct SetUpFailure: Error {
    static let message = "A connection could not be set up"

    /// Runs the body, and logs its error with the peer, which the listener's own channel does not know.
    static func reporting(
        _ channel: any Channel,
        to log: ConnectionLog,
        _ body: () throws -> Void,
    ) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            do {
                try body()
            } catch {
                if !(error is TooManyConnections) {
                    log.report(message, peer: channel.remoteAddress) { ConnectionFailure.cause(of: error) }
                }
                throw SetUpFailure()
            }
        }
    }
}
