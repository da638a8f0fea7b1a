/// One side of an HTTP/2 connection (RFC 9113), as a state machine without input and output.
///
/// `next` gets the received bytes and returns one event after the other. The methods of `HTTP2Endpoint+Sending` begin
/// and answer requests. The bytes to send collect in `output`. Time is an argument. Neither bodies nor received bytes
/// are kept, but for a frame other than DATA of which a part is missing.
///
///     var position = 0
///     while let event = endpoint.next(bytes.span, at: &position, now: now) { … }
///     send(endpoint.output)
///     endpoint.outputTaken()
///
/// What each frame asks for is `mutating` even if it changes nothing: to call any other method, the compiler (Swift 6.3) copies
/// the whole endpoint, 1.1 KB.
package struct HTTP2Endpoint: ~Copyable {
    /// What the next received byte belongs to.
    enum Reading {
        /// The client's preface, of which so many bytes have come (RFC 9113, 3.4).
        case preface(matched: Int)
        case head
        /// The payload of a frame that is handled when it is complete.
        case payload(FrameHead)
        case data(DataProgress)
        /// The rest of a frame that is ignored.
        case skip(Int)
    }

    /// A field block that CONTINUATION frames continue (RFC 9113, 6.10).
    struct OpenBlock {
        var stream: StreamID
        var endStream: Bool
        var bytes: [UInt8]
        var continuations = 0
    }

    package let role: Role
    package let limits: EndpointLimits
    /// Server: whether the events `ignoredFields` and `ignoredData` are wanted.
    package var tellsIgnored = false
    var state = ConnectionState.running(.awaited)

    // Receiving
    var reading: Reading
    /// The part of a head, or of a payload, that has come.
    var pending: [UInt8] = []
    var block: OpenBlock?
    /// When the field block of which a part is missing began to come, in nanoseconds; nil if none is missing. Nobody is
    /// told of its message before it is complete, so whoever limits the time of messages has to limit this too.
    package internal(set) var fieldsBegan: UInt64?
    /// Events that came together with another one.
    private var queue: [Event] = []
    private var queueStart = 0
    /// The fields of the last event that has fields.
    package var fields: FieldList { mutating get { decoder.fields } }
    var decoder = FieldDecoder()
    var flood: FloodGuard
    var receiveWindow = ReceiveWindow(Window.initialOfConnection)

    // Sending
    var writer = FrameWriter()
    var encoder: FieldEncoder
    /// A field block that is being written; kept for its memory.
    var scratch: [UInt8] = []
    var sendWindow = Window.initialOfConnection
    /// The number of frames in the output that answer the peer's.
    var unsentReplies = 0

    // The connection
    var streams = StreamTable<Stream>()
    var closedStreams = ClosedStreams()
    var local = LocalSettings()
    /// The peer's settings. Before its SETTINGS have come, these are the protocol's initial values.
    package internal(set) var peerSettings = Settings()
    /// The highest stream that the peer has opened.
    var lastPeerStream = StreamID.connection
    /// Server: the highest stream that the user was told, as a request or as one that was malformed.
    package internal(set) var lastProcessedStream = StreamID.connection
    /// Client: the number of the next stream.
    var nextStream: UInt32 = 1

    /// Begins a connection: the preface and SETTINGS are in the output (RFC 9113, 3.4).
    package init(role: Role, limits: EndpointLimits = EndpointLimits()) {
        self.role = role
        self.limits = limits
        reading = role == .server ? .preface(matched: 0) : .head
        flood = FloodGuard(limits: limits.flood)
        encoder = FieldEncoder(maximumTableBytes: limits.headerTableBytes)
        begin()
    }

    /// The number of open streams.
    package var openStreams: Int { streams.count }

    /// Whether the connection can be closed: no new streams will come, and the last one has ended (RFC 9113, 6.8).
    package var isFinished: Bool {
        mutating get {
            switch state {
            case .running: false
            case .failed: true
            default: streams.isEmpty && state.closing.hasGoAway
            }
        }
    }

    /// Whether the client's preface is not complete (RFC 9113, 3.4).
    package var isReadingPreface: Bool { if case .preface = reading { true } else { false } }

    /// Whether the peer's preface has come, with its SETTINGS (RFC 9113, 3.4).
    package var hasReceivedSettings: Bool { mutating get { state.hasReceivedSettings } }

    /// The last stream of the GOAWAY that came; nil if none came.
    package var receivedGoAway: StreamID? { mutating get { state.closing.receivedGoAway } }

    /// The connection error that has ended the connection.
    package var failure: Fault? { mutating get { state.failure } }

    /// Server: the last stream that may be processed (RFC 9113, 6.8); nil if there is no limit.
    package var lastAcceptedStream: StreamID? {
        mutating get {
            guard !state.isRunning else { return nil }
            let closing = state.closing
            return closing.refusesStreams ? lastProcessedStream : closing.sentGoAway
        }
    }

    /// Whether the peer has not acknowledged our SETTINGS (RFC 9113, 6.5.3).
    package var hasUnacknowledgedSettings: Bool { local.isUnacknowledged }

    // MARK: Events

    /// Reads the next event from received bytes.
    /// - Parameters:
    ///   - bytes: what was received. Pass the same bytes again until the result is nil; then they are used up.
    ///   - position: where to read on; 0 for new bytes.
    ///   - now: the time in nanoseconds of a clock that does not go back, for the rates of `EndpointLimits.flood`.
    package mutating func next(_ bytes: Span<UInt8>, at position: inout Int, now: UInt64) -> Event? {
        while true {
            if let event = nextQueued() { return event }
            guard position >= 0, position < bytes.count else { return nil }
            guard state.isRead else {
                position = bytes.count
                return nil
            }
            do throws(Fault) {
                if let event = try read(bytes, &position, now) { return event }
            } catch {
                fail(error)
            }
        }
    }

    /// The next event that a method for sending has caused, such as `closed`.
    package mutating func nextQueued() -> Event? {
        guard queueStart < queue.count else { return nil }
        let event = queue[queueStart]
        queueStart += 1
        if queueStart == queue.count {
            queue.removeAll(keepingCapacity: true)
            queueStart = 0
        }
        return event
    }

    mutating func enqueue(_ event: Event) { queue.append(event) }

    /// Handles a connection error (RFC 9113, 5.4.1). GOAWAY has the rule that was broken as debug data.
    private mutating func fail(_ fault: Fault) {
        forgetUnread()
        if state.isAnswering {
            // A peer that does not speak HTTP/2 would not understand GOAWAY (RFC 9113, 3.4, allows to omit it).
            if !isReadingPreface {
                writeGoAway(lastStream: lastProcessedStream, fault.code, debugData: Array(fault.description.utf8))
            }
            enqueue(.failed(fault))
        }
        state.fail(fault)
    }

    /// Releases what has come of a frame or a field block that is not complete.
    private mutating func forgetUnread() {
        pending = []
        block = nil
        fieldsBegan = nil
    }

    // MARK: Streams

    enum Place {
        case idle
        case open(index: Int)
        case closed
    }

    /// The state of a stream (RFC 9113, 5.1). A number that was skipped is closed (5.1.1).
    mutating func place(of stream: StreamID) -> Place {
        if let index = streams.index(of: stream) { return .open(index: index) }
        let isOurs = stream.isOfClient == (role == .client)
        // A server opens no streams, because it does not push.
        if isOurs { return role == .client && stream.rawValue < nextStream ? .closed : .idle }
        return stream > lastPeerStream ? .idle : .closed
    }

    /// Handles a stream error of an open stream (RFC 9113, 5.4.2): resets the stream, and ignores what else comes for
    /// it.
    mutating func streamError(_ stream: StreamID, _ fault: Fault, _ now: UInt64) throws(Fault) {
        streams.remove(stream)
        enqueue(.closed(stream, fault.code, fault))
        try resetForFault(stream, fault, now)
    }

    /// Resets a stream because of the peer's fault. Such resets are counted as the peer's own (CVE-2025-8671).
    mutating func resetForFault(_ stream: StreamID, _ fault: Fault, _ now: UInt64) throws(Fault) {
        closedStreams.wasReset(stream)
        try answer { $0.reset(stream, fault.code) }
        try flood.countReset(at: now)
    }

    /// Writes a frame that answers the peer's, and counts it.
    @inline(__always)
    mutating func answer(_ write: (inout FrameWriter) -> Void) throws(Fault) {
        guard state.isAnswering else { return }
        write(&writer)
        unsentReplies += 1
        guard unsentReplies <= limits.maxUnsentReplies else { throw Fault(flood: .unsentReplies) }
    }

    /// Closes the stream at an index if both sides have ended it.
    mutating func closeIfEnded(_ index: Int, _ stream: StreamID) {
        guard streams[index].isClosed else { return }
        streams.remove(stream)
        enqueue(.closed(stream, .noError, nil))
    }

    // MARK: Memory

    /// Ends everything, and releases all memory. Nothing is sent or received any more.
    package mutating func close() {
        state.end()
        forgetUnread()
        queue = []
        queueStart = 0
        scratch = []
        writer = FrameWriter()
        streams = StreamTable<Stream>()
        closedStreams = ClosedStreams()
        decoder = FieldDecoder()
        encoder = FieldEncoder(maximumTableBytes: 0)
    }

    /// The bytes of incomplete frames and field blocks, and of the output.
    package var heldBytes: Int {
        pending.capacity + (block?.bytes.capacity ?? 0) + writer.bytes.capacity
    }

    /// Releases the memory that only reading and writing need. Call it when the connection is idle.
    package mutating func releaseIdleMemory() {
        if pending.isEmpty { pending = [] }
        if queue.isEmpty { queue = [] }
        if writer.bytes.isEmpty { writer.bytes = [] }
        scratch = []
        streams.releaseIdleMemory()
        decoder.releaseIdleMemory()
        encoder.releaseIdleMemory()
    }
}
