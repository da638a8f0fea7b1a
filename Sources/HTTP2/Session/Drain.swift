/// How far a graceful drain is (RFC 9113, 6.8).
enum Drain {
    /// None was begun.
    case none
    /// The notice, a GOAWAY with stream 2^31-1, is queued with this debug data.
    case noticeQueued(debugData: [UInt8])
    /// The notice was written, and a PING after it: once that is acknowledged, or the application says so, every stream
    /// the peer opened before it knew has arrived.
    case noticeSent(debugData: [UInt8])
    /// The second GOAWAY with the last stream processed was handed in.
    case finished

    /// The payload of that PING ("carillon" in ASCII). An acknowledgement with it is not told to the application.
    static let pingPayload: UInt64 = 0x6361_7269_6c6c_6f6e
}
