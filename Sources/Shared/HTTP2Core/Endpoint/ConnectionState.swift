/// The life of a connection, from our preface to the end (RFC 9113, 3.4, 5.4.1 and 6.8).
///
/// Each frame asks for it. So each case has a value, and the large values are indirect: then a question compares the tag alone.
/// For a case without a value it would compare all bytes of the largest one.
enum ConnectionState {
    /// Both sides may open streams. Our preface is in the output.
    case running(PeerPreface)
    /// One side opens no more streams (6.8). Open streams continue.
    indirect case closing(Closing)
    /// We answer nothing more. What comes is only read to tell what is ignored. What waits is still sent.
    indirect case lingering(Closing)
    /// The peer has broken a rule when we no longer answered. Nothing more is read. What waits is still sent.
    indirect case sendingOnly(Closing)
    /// A connection error (5.4.1). Nothing more is read or sent, except for the GOAWAY in the output.
    indirect case failed(Fault, Closing)
    /// The user has closed the endpoint. Nothing more is read or sent.
    indirect case closed(Closing)

    /// Whether the peer's preface has come, which ends with its SETTINGS (3.4).
    enum PeerPreface {
        case awaited
        case received
    }

    /// How far the end of a connection has come.
    struct Closing {
        /// Our GOAWAY may be earlier than the peer's preface.
        var preface: PeerPreface
        /// Server: whether each new stream is refused. A client that does not know it yet may send whole requests in vain.
        var refusesStreams = false
        /// The last stream of the GOAWAY that we sent; nil if we sent none.
        var sentGoAway: StreamID?
        /// The last stream of the GOAWAY that came; nil if none came.
        var receivedGoAway: StreamID?

        /// Whether one side has told the other that the connection ends.
        var hasGoAway: Bool { sentGoAway != nil || receivedGoAway != nil }
    }

    // MARK: What each frame asks

    /// Whether the peer's preface has come, with its SETTINGS (3.4).
    var hasReceivedSettings: Bool {
        if case .running(let preface) = self { preface == .received } else { closing.preface == .received }
    }

    var isRead: Bool {
        switch self {
        case .running, .closing, .lingering: true
        case .sendingOnly, .failed, .closed: false
        }
    }

    /// Whether the peer's frames are answered.
    var isAnswering: Bool {
        switch self {
        case .running, .closing: true
        case .lingering, .sendingOnly, .failed, .closed: false
        }
    }

    /// Whether frames can be sent.
    var canSend: Bool {
        switch self {
        case .running, .closing, .lingering, .sendingOnly: true
        case .failed, .closed: false
        }
    }

    /// Whether neither side has begun to close.
    var isRunning: Bool { if case .running = self { true } else { false } }

    // MARK: The end

    /// The connection error that has ended the connection.
    var failure: Fault? { if case .failed(let fault, _) = self { fault } else { nil } }

    var closing: Closing {
        switch self {
        case .running(let preface): Closing(preface: preface)
        case .closing(let closing), .lingering(let closing), .sendingOnly(let closing), .failed(_, let closing),
            .closed(let closing):
            closing
        }
    }

    /// The peer has sent SETTINGS.
    mutating func settingsReceived() {
        if isRunning {
            self = .running(.received)
        } else {
            close { $0.preface = .received }
        }
    }

    /// Changes how far the end has come. It begins with this, unless it has begun before.
    mutating func close(_ change: (inout Closing) -> Void) {
        var closing = closing
        change(&closing)
        self =
            switch self {
            case .running, .closing: .closing(closing)
            case .lingering: .lingering(closing)
            case .sendingOnly: .sendingOnly(closing)
            case .failed(let fault, _): .failed(fault, closing)
            case .closed: .closed(closing)
            }
    }

    mutating func stopAnswering() { if isAnswering { self = .lingering(closing) } }

    /// The peer has broken a rule of the connection.
    mutating func fail(_ fault: Fault) {
        switch self {
        case .running, .closing: self = .failed(fault, closing)
        case .lingering: self = .sendingOnly(closing)
        case .sendingOnly, .failed, .closed: break
        }
    }

    /// The user closes the endpoint. It still knows why it has failed.
    mutating func end() { if canSend { self = .closed(closing) } }
}
