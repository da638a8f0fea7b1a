/// What the session itself keeps of an open stream.
struct StreamState {
    struct Flags: OptionSet {
        let rawValue: UInt8
        /// The peer has ended its side.
        static let remoteEnded = Flags(rawValue: 1 << 0)
        /// Server: the final response was handed in. Client: the final response has begun.
        static let responded = Flags(rawValue: 1 << 1)
        /// All of our side was handed in.
        static let localEnded = Flags(rawValue: 1 << 2)
        /// RST_STREAM was handed in: nothing more is told but that the stream is closed.
        static let reset = Flags(rawValue: 1 << 3)
        /// The application does not want more of the body for now.
        static let paused = Flags(rawValue: 1 << 4)
        /// The body passed `maxBodyBytes`.
        static let bodyTooLarge = Flags(rawValue: 1 << 5)
        /// The server's answer ended before the request did.
        static let answeredEarly = Flags(rawValue: 1 << 6)
        /// `maxBodyBytes` does not count.
        static let endlessBody = Flags(rawValue: 1 << 7)
    }

    var flags: Flags = []
    /// Body bytes received.
    var received = 0
    /// Body bytes received while paused, for which the stream's window was not opened again.
    var unconsumed = 0
    /// What waits to be sent; nil while there was no body to send.
    var outbound: OutboundBody?

    /// Server: nothing of its answer is still to come from the application or waits for the peer's window.
    var isAnswered: Bool {
        flags.contains(.reset) || flags.contains(.localEnded) && (outbound.map { $0.bytes == 0 } ?? true)
    }
}
