package import HTTP2Core

/// The user of a session: a provider's connection, or a client's.
///
/// Every call comes on the channel's event loop. Most calls come while bytes are being read, and each of them may call
/// any method of the session. Submitted frames are queued and sent in one write after `batchEnded()`. Spans are valid
/// during the call only. Each method has an implementation that does nothing.
package protocol HTTP2Application: AnyObject {
    /// The channel is active and the preface is queued. A client may make requests from here on.
    func sessionBecameActive(_ session: HTTP2Session)

    /// Server: a request. Client: the final response to a request; informational ones (1xx) are skipped. All of its fields
    /// have come and were checked (RFC 9113, 8.2 and 8.3): pseudo-header fields come first, and names are in lower case.
    /// With `endStream` there is no body, and `streamEnded` follows at once.
    func fieldsReceived(_ stream: StreamID, _ fields: FieldList, endStream: Bool)
    /// Called instead of `fieldsReceived` if the list of fields is longer than `EndpointLimits.maxHeaderListBytes`. The
    /// fields after that limit were left out. Return true to answer the request (a server answers 431). false, the default,
    /// resets the stream with ENHANCE_YOUR_CALM.
    func fieldsTooLarge(_ stream: StreamID, _ fields: FieldList) -> Bool
    /// Server: a malformed request (RFC 9113, 8.1.1). Its stream was reset, and no other call follows for it. The rule is a
    /// sentence without bytes of the peer.
    func malformedRequest(_ stream: StreamID, error: HTTP2ErrorCode, rule: String)
    /// Server: the client sent a PRIORITY frame for a stream, which may not be open. It has no effect.
    func priorityReceived(_ stream: StreamID)
    /// Server: the client sent WINDOW_UPDATE, for a stream or for the connection.
    func windowUpdateReceived()
    /// Server: the client sent PING, and has its answer.
    func pingReceived()

    /// Bytes of a body. The windows are opened again at once, unless `pauseReading(_:)` was called.
    func dataReceived(_ stream: StreamID, bytes: Span<UInt8>)
    /// The body is longer than `maxBodyBytes`, and the rest of it is left out. Called once. Return true to answer the
    /// request (a server: status 413); false, the default, resets the stream with CANCEL.
    func bodyTooLarge(_ stream: StreamID) -> Bool
    /// The peer has sent all of the request or response. Trailers were dropped.
    func streamEnded(_ stream: StreamID)
    /// The stream has ended. Called exactly once for each stream that the application knows, also after its own `reset`
    /// and when the connection ends. The error is `noError` if both sides had finished.
    func streamClosed(_ stream: StreamID, error: HTTP2ErrorCode)
    /// Called after `write` returned `wait`, when fewer than `streamLowMark` bytes of this stream are unsent.
    func writable(_ stream: StreamID)

    /// The peer answered a `ping`.
    func pingAcknowledged(_ payload: UInt64)
    /// The peer's SETTINGS have arrived and apply.
    func settingsReceived(_ settings: PeerSettings)
    /// The peer accepts no more new streams. It did not process ours above `lastStream`: for each of these,
    /// `streamClosed` follows with REFUSED_STREAM, and its request can be sent again elsewhere (RFC 9113, 6.8).
    func goAwayReceived(lastStream: StreamID, error: HTTP2ErrorCode, debugData: Span<UInt8>)

    /// The end of a batch: everything that had arrived was reported. Frames that are submitted until this call returns
    /// are sent in the same write.
    func batchEnded()
    /// The session has ended. This is the last call, after `streamClosed` of the last stream. The session releases the
    /// application when it returns.
    func sessionClosed(_ end: SessionEnd)
}

extension HTTP2Application {
    package func sessionBecameActive(_ session: HTTP2Session) {}
    package func fieldsReceived(_ stream: StreamID, _ fields: FieldList, endStream: Bool) {}
    package func fieldsTooLarge(_ stream: StreamID, _ fields: FieldList) -> Bool { false }
    package func malformedRequest(_ stream: StreamID, error: HTTP2ErrorCode, rule: String) {}
    package func priorityReceived(_ stream: StreamID) {}
    package func windowUpdateReceived() {}
    package func pingReceived() {}
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
