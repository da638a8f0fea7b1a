/// What an endpoint tells its user. Ranges are positions in the bytes that were passed to `next`.
package enum Event: Sendable {
    /// Server: a request. Its fields are in `HTTP2Endpoint.fields` until the next call of `next`. With `endStream` it
    /// has no content.
    case request(StreamID, endStream: Bool)
    /// Client: an interim response (1xx; RFC 9113, 8.1). Its fields are in `fields`.
    case interimResponse(StreamID)
    /// Client: the final response. Its fields are in `fields`.
    case response(StreamID, endStream: Bool)
    /// Trailers. The peer has ended the stream. The fields are in `fields`.
    case trailers(StreamID)
    /// A request, a response or trailers with a list of fields that is longer than `maxHeaderListBytes`. The fields
    /// that fit are in `fields`, and were not checked: answer (a server: 431), or reset the stream.
    case fieldsTooLarge(StreamID, endStream: Bool)
    /// A part of the content. It may be empty with `endStream`.
    case data(StreamID, Range<Int>, endStream: Bool)
    /// The stream has ended: both sides have finished (NO_ERROR), the peer reset it, or the endpoint did because of a
    /// fault. Follows a `reset` of the user too.
    case closed(StreamID, ErrorCode, Fault?)
    /// Server: a request that was not told, because of this fault. Its stream was reset. What could be read of its fields
    /// is in `fields`.
    case refused(StreamID, Fault)
    /// Server, with `tellsIgnored`: a request above the last stream that we accept, or HEADERS on a closed stream (RFC
    /// 9113, 5.1 and 6.8). The fields are in `fields`, and were not checked.
    case ignoredFields(StreamID, endStream: Bool)
    /// Server, with `tellsIgnored`: content of a stream that was closed before its frame, or was never opened.
    case ignoredData(StreamID, Range<Int>, endStream: Bool)

    /// The peer's SETTINGS apply.
    case settings
    /// The peer has acknowledged our oldest SETTINGS.
    case settingsAcknowledged
    /// The peer sent PING, and its answer is in the output.
    case ping(UInt64)
    case pingAcknowledged(UInt64)
    /// The peer accepts no more streams. Ours above `lastStream` follow as `closed` with REFUSED_STREAM.
    case goAway(lastStream: StreamID, ErrorCode, debugData: [UInt8])
    /// The peer opened a window: that of a stream, or the connection's.
    case windowUpdate(StreamID)
    /// A PRIORITY frame, which has no effect (RFC 9113, 5.3.2).
    case priority(StreamID)

    /// A connection error (RFC 9113, 5.4.1). GOAWAY is in the output. Nothing more is read: send the output, and close.
    case failed(Fault)
}
