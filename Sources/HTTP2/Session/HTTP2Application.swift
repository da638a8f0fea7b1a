/// What stands on a session: a gateway's connection, or a client's.
///
/// Every call comes on the channel's event loop. Most come while bytes are being read, and any method of the session
/// may be called from any of them: what is submitted is queued, and goes out in one write after `batchEnded()`. Spans
/// are valid during the call only. Each method has an implementation that does nothing.
package protocol HTTP2Application: AnyObject {
    /// The channel is active and the preface is queued. A client may make requests from here on.
    func sessionBecameActive(_ session: HTTP2Session)

    /// Server: a request begins. Client: the final response to a request begins; informational ones (1xx) are skipped.
    func headersBegan(_ stream: StreamID)
    /// One field, pseudo-header fields first, names in lower case (RFC 9113, 8.2 and 8.3; libnghttp2 has checked it).
    func headerReceived(_ stream: StreamID, name: Span<UInt8>, value: Span<UInt8>)
    /// Server, with `observesEncoding`: how the field is encoded that `headerReceived` tells next.
    func headerEncoded(_ stream: StreamID, name: Span<UInt8>, as form: HeaderForm)
    /// Server: the client sent a PRIORITY frame for a stream, which may not be open. It has no effect.
    func priorityReceived(_ stream: StreamID)
    /// All fields were told. With `endStream` there is no body, and `streamEnded` follows at once.
    func headersEnded(_ stream: StreamID, endStream: Bool)
    /// Instead of `headersEnded`: the list is longer than `maxHeaderListBytes`, and only the fields up to there were
    /// told. Return true to answer it (a server: status 431); false, the default, resets the stream with
    /// ENHANCE_YOUR_CALM.
    func headersTooLarge(_ stream: StreamID) -> Bool

    /// Bytes of a body. The windows are opened again at once, unless `pauseReading(_:)` was called.
    func dataReceived(_ stream: StreamID, bytes: Span<UInt8>)
    /// The body is longer than `maxBodyBytes`; nothing more of it is told. Called once. Return true to answer it
    /// (a server: status 413); false, the default, resets the stream with CANCEL.
    func bodyTooLarge(_ stream: StreamID) -> Bool
    /// The peer has sent all of the request or response. Trailers were dropped.
    func streamEnded(_ stream: StreamID)
    /// The stream is gone. Exactly once for each stream that the application was told of or has opened, also after its
    /// own `reset` and when the connection ends. `noError` where both sides had finished.
    func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode)
    /// After `write` said to stop: fewer than `streamLowMark` bytes of this stream are waiting.
    func writable(_ stream: StreamID)

    /// The peer answered a `ping`.
    func pingAcknowledged(_ payload: UInt64)
    /// The peer's SETTINGS came and are in force.
    func settingsReceived(_ settings: PeerSettings)
    /// The peer will take no new streams. Those of ours above `lastStream` were not processed: `streamClosed` follows
    /// for each with REFUSED_STREAM, and they can be sent again elsewhere (RFC 9113, 6.8).
    func goAwayReceived(lastStream: StreamID, error: HTTP2ErrorCode, debugData: Span<UInt8>)

    /// All that had arrived was told. What is submitted up to the end of this call goes out in the same write.
    func batchEnded()
    /// The session is over, after `streamClosed` of the last stream. Called once, the last call of all; the session
    /// has let go of the application when it returns.
    func sessionClosed(_ end: SessionEnd)
}

extension HTTP2Application {
    package func sessionBecameActive(_ session: HTTP2Session) {}
    package func headersBegan(_ stream: StreamID) {}
    package func headerReceived(_ stream: StreamID, name: Span<UInt8>, value: Span<UInt8>) {}
    package func headerEncoded(_ stream: StreamID, name: Span<UInt8>, as form: HeaderForm) {}
    package func priorityReceived(_ stream: StreamID) {}
    package func headersEnded(_ stream: StreamID, endStream: Bool) {}
    package func headersTooLarge(_ stream: StreamID) -> Bool { false }
    package func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {}
    package func bodyTooLarge(_ stream: StreamID) -> Bool { false }
    package func streamEnded(_ stream: StreamID) {}
    package func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode) {}
    package func writable(_ stream: StreamID) {}
    package func pingAcknowledged(_ payload: UInt64) {}
    package func settingsReceived(_ settings: PeerSettings) {}
    package func goAwayReceived(lastStream: StreamID, error: HTTP2ErrorCode, debugData: Span<UInt8>) {}
    package func batchEnded() {}
    package func sessionClosed(_ end: SessionEnd) {}
}
