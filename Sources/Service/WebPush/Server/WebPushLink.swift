import Matching
import NIOCore

/// What a request may do with its connection: rehearsals close it, or let the client wait.
struct WebPushLink: Sendable {
    /// The connection's number in the journal; 0 if nobody observes.
    var number: UInt64
    /// Whether the request may use what nobody has made (`--accept any`).
    var mayUseUnknown = false
    /// Closes the connection.
    var close: @Sendable (RequestFault.CloseKind) -> Void
    /// Waits, but not longer than the connection lives.
    var wait: @Sendable (Duration) async -> Void
}
