/// An open stream (RFC 9113, 5.1). Idle and closed streams are not stored: the numbers of the newest streams tell them
/// apart.
struct Stream {
    struct Flags: OptionSet {
        let rawValue: UInt16
        /// The peer has sent END_STREAM: "half-closed (remote)".
        static let remoteEnded = Flags(rawValue: 1 << 0)
        /// We have sent END_STREAM: "half-closed (local)".
        static let localEnded = Flags(rawValue: 1 << 1)
        /// The request, or the final response, has come: only trailers may follow (RFC 9113, 8.1).
        static let hasMessage = Flags(rawValue: 1 << 2)
        /// The application does not want more of the body for now.
        static let isPaused = Flags(rawValue: 1 << 3)
        /// Client: the request was HEAD, so the response has no content (RFC 9113, 8.1.1).
        static let isHead = Flags(rawValue: 1 << 4)
        /// The stream is a tunnel: only DATA and stream management may follow (RFC 9113, 8.5).
        static let isTunnel = Flags(rawValue: 1 << 5)
        /// Client: the request was CONNECT.
        static let isConnect = Flags(rawValue: 1 << 6)
        /// Server: the final response was sent. Content and trailers may follow (RFC 9113, 8.1).
        static let hasSentResponse = Flags(rawValue: 1 << 7)
        /// The rest of the peer's content is not wanted.
        static let ignoresContent = Flags(rawValue: 1 << 8)
    }

    let id: StreamID
    var flags: Flags = []
    /// How much we may send. Negative if the peer made the window smaller (RFC 9113, 6.9.2).
    var sendWindow: Int32
    var receiveWindow: ReceiveWindow
    /// The bytes of content that came while the application paused, and for which the window was not opened.
    var unconsumed: Int32 = 0
    /// How many bytes of content are missing by content-length (RFC 9113, 8.1.1); nil if it is not known.
    var missingContent: UInt64?

    init(_ id: StreamID, sendWindow: Int, receiveWindow: Int) {
        self.id = id
        self.sendWindow = Int32(clamping: sendWindow)
        self.receiveWindow = ReceiveWindow(receiveWindow)
    }

    /// Both sides have sent END_STREAM.
    var isClosed: Bool { flags.isSuperset(of: [.remoteEnded, .localEnded]) }
}
