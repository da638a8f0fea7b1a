/// The progress of a graceful drain (RFC 9113, 6.8).
enum Drain {
    /// No drain was begun.
    case none
    /// The notice, a GOAWAY with stream 2^31-1, was submitted, and a PING after it. When the PING is acknowledged, or
    /// the application says so, every stream that the peer opened before it knew has arrived.
    case began(debugData: [UInt8])
    /// No new stream is accepted. One GOAWAY follows when all open requests have their answers, or with `close()`.
    case answering(debugData: [UInt8])
    /// The GOAWAY with the last processed stream was submitted.
    case finished(debugData: [UInt8])

    /// The payload of that PING ("carillon" in ASCII). The application is not told of its acknowledgement.
    static let pingPayload: UInt64 = 0x6361_7269_6c6c_6f6e

    /// The debug data of its GOAWAY frames; nil without a drain.
    var debugData: [UInt8]? {
        switch self {
        case .none: nil
        case .began(let debugData), .answering(let debugData), .finished(let debugData): debugData
        }
    }
}
