import NIOCore
import NIOHTTP2

/// Keeps the errors of single streams from Hummingbird's manager of the connection, which closes the connection at each error: the
/// requests on the other streams would lose their answers (RFC 9113, 5.4.2). The stream has been reset already, and SwiftNIO ends a
/// connection that has too many of them.
final class StreamErrors: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if !(error is NIOHTTP2Errors.StreamError) { context.fireErrorCaught(error) }
    }

    /// - Parameter pipeline: of a connection, with its handlers of HTTP/2.
    static func keep(in pipeline: ChannelPipeline.SynchronousOperations) throws {
        try pipeline.addHandler(StreamErrors(), position: .after(try pipeline.handler(type: NIOHTTP2Handler.self)))
    }
}
