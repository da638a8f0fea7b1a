/// The session's state for an open stream.
struct StreamState {
    struct Flags: OptionSet {
        let rawValue: UInt8
        /// The peer has ended its side.
        static let remoteEnded = Flags(rawValue: 1 << 0)
        /// Server: the final response was submitted. Client: the final response has begun.
        static let responded = Flags(rawValue: 1 << 1)
        /// Our side is submitted completely.
        static let localEnded = Flags(rawValue: 1 << 2)
        /// RST_STREAM was submitted. The application gets only `streamClosed` after that.
        static let reset = Flags(rawValue: 1 << 3)
        /// The body exceeded `maxBodyBytes`.
        static let bodyTooLarge = Flags(rawValue: 1 << 4)
        /// The server's answer ended before the request did.
        static let answeredEarly = Flags(rawValue: 1 << 5)
        /// `maxBodyBytes` does not apply.
        static let endlessBody = Flags(rawValue: 1 << 6)
    }

    var flags: Flags = []
    /// Body bytes received.
    var received = 0
    /// The unsent body; nil if there was none yet.
    var outbound: OutboundBody?

    /// Server: whether the answer is complete and sent, as far as the peer's window allows.
    var isAnswered: Bool {
        flags.contains(.reset) || flags.contains(.localEnded) && (outbound.map { $0.bytes == 0 } ?? true)
    }
}
