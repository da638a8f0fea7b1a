/// How far a graceful drain is (RFC 9113, 6.8).
enum Drain {
    /// None was begun.
    case none
    /// The notice, a GOAWAY with stream 2^31-1, was handed in, and a PING follows it: once that is acknowledged, or the
    /// application says so, every stream the peer opened before it knew has arrived.
    case began(debugData: [UInt8])
    /// No new stream is taken; the one GOAWAY follows once what was begun has its answer, or with `close()`.
    case answering(debugData: [UInt8])
    /// The GOAWAY with the last stream processed was handed in.
    case finished(debugData: [UInt8])

    /// The payload of that PING ("carillon" in ASCII). An acknowledgement with it is not told to the application.
    static let pingPayload: UInt64 = 0x6361_7269_6c6c_6f6e

    /// What its GOAWAY frames carry; nil where there is no drain.
    var debugData: [UInt8]? {
        switch self {
        case .none: nil
        case .began(let debugData), .answering(let debugData), .finished(let debugData): debugData
        }
    }
}
