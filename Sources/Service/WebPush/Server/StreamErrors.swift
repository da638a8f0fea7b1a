import NIOCore
import NIOHTTP2

/// Keeps malformed requests from Hummingbird's manager of the connection, which closes the connection at each error: the requests on
/// the other streams would lose their answers. Such an error concerns its stream alone (RFC 9113, 8.1.1), which SwiftNIO has reset
/// already. It ends a connection that has too many of them.
final class StreamErrors: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    private let whenMalformed: () -> Void

    init(whenMalformed: @escaping () -> Void) { self.whenMalformed = whenMalformed }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard Self.isOfStream(error) else { return context.fireErrorCaught(error) }
        whenMalformed()
    }

    private static func isOfStream(_ error: any Error) -> Bool {
        switch error {
        case is NIOHTTP2Errors.StreamError, is NIOHTTP2Errors.TrailersWithoutEndStream,
            is NIOHTTP2Errors.ContentLengthViolated, is NIOHTTP2Errors.ContentLengthHeadersMismatch,
            is NIOHTTP2Errors.ContentLengthHeaderNegative, is NIOHTTP2Errors.ContentLengthHeaderMalformedValue,
            is NIOHTTP2Errors.MissingPseudoHeader, is NIOHTTP2Errors.DuplicatePseudoHeader,
            is NIOHTTP2Errors.UnknownPseudoHeader, is NIOHTTP2Errors.UnsupportedPseudoHeader,
            is NIOHTTP2Errors.InvalidPseudoHeaders, is NIOHTTP2Errors.InvalidPseudoHeaderValue,
            is NIOHTTP2Errors.PseudoHeaderAfterRegularHeader, is NIOHTTP2Errors.EmptyPathHeader,
            is NIOHTTP2Errors.ForbiddenHeaderField, is NIOHTTP2Errors.InvalidHTTP2HeaderFieldName,
            is NIOHTTP2Errors.InvalidHTTP2HeaderFieldValue:
            true
        default: false
        }
    }

    /// Adds the handler to a connection that has its handlers of HTTP/2.
    func add(to pipeline: ChannelPipeline.SynchronousOperations) throws {
        try pipeline.addHandler(self, position: .after(try pipeline.handler(type: NIOHTTP2Handler.self)))
    }
}
