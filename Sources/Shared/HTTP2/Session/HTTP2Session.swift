package import Connections
package import NIOCore

/// One HTTP/2 connection (RFC 9113), server or client: the last handler of a NIO channel.
///
/// It calls an `HTTP2Application` with the events, and writes the frames of a batch in one write. Streams have no child
/// channels and no tasks. Received bytes are not kept: the application gets spans of them.
///
/// A subclass implements the protocol: `LibrarySession` with libnghttp2, and `CoreSession` with `HTTP2Core`. `make`
/// makes one of them. All that a user sees, and the order of its calls, is here.
///
/// Confined to the channel's event loop. TLS, ALPN and time limits for the handshake, idle connections and slow
/// requests are the caller's task. The session holds its application until the connection has ended, so the two may
/// refer to each other.
package class HTTP2Session: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// The side of the connection.
    package enum Role: Sendable {
        case server
        case client
    }

    enum State {
        /// The channel is not active yet.
        case idle
        /// Requests can be made and answered.
        case active
        /// Nothing more is read. The channel is closed when the queued frames are written.
        case closing
        /// The application has had its last call, and the protocol's state is released.
        case closed
    }

    // The members that each read and write use are next to each other, in three cache lines: with thousands of
    // sessions, each access to another line waits for memory.

    /// The side of the connection.
    package let role: Role
    var state = State.idle
    /// Whether the protocol may have something to send, or may have finished. It is true if something was submitted since
    /// the last check, or if a frame came that opens a window or closes a stream. DATA closes a stream only if it has
    /// END_STREAM.
    var hasNews = true
    /// Whether bytes are being read. Frames that are submitted meanwhile are sent at the end.
    var isReading = false
    /// Whether the protocol's part runs. It must not be released then, nor called again in the same direction.
    var isInProtocol = false
    /// The protocol's part has failed and must not be used any more.
    var hasFailed = false
    var isFlushing = false
    var isFlushScheduled = false
    /// Whether the channel is writable, as it last reported.
    var isWritable = true
    var hasStartedClosing = false
    var activity = Activity.working
    var context: ChannelHandlerContext?
    /// `LibrarySession` only: libnghttp2's session; nil before the channel is active and after `teardown`. It is here
    /// because each read and write uses it.
    var library: OpaquePointer?
    /// The application without reference counting. There are about fifteen calls for each request, and counting a
    /// reference costs as much as finding the stream. Only `teardown` releases the application, after the protocol's
    /// part has returned.
    private var receiver: Unmanaged<HeldApplication>?
    private var held: HeldApplication? { didSet { receiver = held.map { .passUnretained($0) } } }
    var streams = StreamTable<StreamState>()
    var output = ByteBuffer()
    /// The unsent body bytes of all streams.
    package internal(set) var bufferedBytes = 0
    /// When the bytes that are being read arrived. The clock is read once for all of them.
    var readTime = NIODeadline.distantPast
    /// Whether some memory is released while the session is idle.
    let releasesIdleMemory: Bool
    /// The next check whether the session is idle.
    var idleCheck: Scheduled<Void>?
    /// The number of open streams with the flag `answeredEarly`.
    var earlyAnswers = 0

    /// The limits and sizes.
    package let configuration: HTTP2Configuration

    /// Called at the end, after the application, for the code that accepted the connection.
    package var whenEnded: ((SessionEnd) -> Void)?
    /// Why the session ends; nil until that is known.
    var end: SessionEnd?
    /// Set if the channel ended while the protocol's part ran.
    var pendingTeardown: SessionEnd?
    /// Whether bytes were dropped while the channel was being closed. What comes after them has no meaning.
    var hasSkippedBytes = false
    /// Closes the channel if the peer does not take the last bytes in time; nil before the session is closing.
    var closeTimeout: Scheduled<Void>?

    // Receiving
    var flood: FloodGuard
    /// Set if the peer floods us. It is handled when the application's call has returned.
    var floodKind: FloodGuard.Kind?
    /// The first bytes of the connection, kept until they are known to be HTTP/2.
    var prefix: [UInt8] = []

    // Sending
    /// Streams whose answer was sent while the request was still coming: RST_STREAM is due (RFC 9113, 8.1).
    var earlyResets: [StreamID] = []
    /// The same, if the reset waits until the peer has read the answer.
    var readAnswers = ReadAnswers()
    /// Streams whose applications wait for `writable`.
    var writableStreams: [StreamID] = []
    /// TLS's buffers; nil if the session does not release their memory.
    package var buffers: TLSBuffers?

    // Going away
    var drain: Drain = .none
    /// The first GOAWAY of a drain was written, and the PING after it was not submitted yet.
    var isDrainPingDue = false

    /// Whether the peer's preface has come, including its first SETTINGS (RFC 9113, 3.4). The handshake's time limit
    /// uses it.
    package internal(set) var hasReceivedPreface = false
    /// Whether the peer has sent GOAWAY.
    package internal(set) var hasReceivedGoAway = false
    /// Whether a final GOAWAY was submitted. The first GOAWAY of a drain does not count.
    package var hasSubmittedGoAway: Bool { lastStreamOfGoAway != nil }
    /// The last stream that the final GOAWAY names; nil before it was submitted.
    var lastStreamOfGoAway: StreamID?
    /// Server: the highest stream that the application has seen. The last GOAWAY names it.
    package internal(set) var lastProcessedStream = StreamID.none

    /// Holds the application, so that it can be called without counting a reference.
    private final class HeldApplication {
        let application: any HTTP2Application
        init(_ application: any HTTP2Application) { self.application = application }
    }

    var application: (any HTTP2Application)? { held?.application }

    /// Makes the part that is common to all. Use `make`.
    init(role: Role, configuration: HTTP2Configuration, application: any HTTP2Application) {
        self.role = role
        self.configuration = configuration
        let held = HeldApplication(application)
        self.held = held
        receiver = .passUnretained(held)
        releasesIdleMemory = configuration.idleMemory != .kept
        flood = FloodGuard(limits: configuration.flood)
    }

    // MARK: The protocol, which a subclass implements. Here nothing is sent and nothing is open.

    /// Begins the protocol: the preface and SETTINGS are queued. Returns false if there is no memory.
    func beginProtocol() -> Bool { false }
    /// Reads the bytes, and calls the application with the events.
    func read(_ buffer: ByteBuffer) {}
    /// Reads bytes that come while the channel is being closed. The application gets no events.
    func readWhileClosing(_ buffer: ByteBuffer) {}
    /// Moves frames to the channel while it is writable.
    func pump(_ context: ChannelHandlerContext) {}
    /// Releases the protocol's state. Its last call.
    func endProtocol() {}
    /// Releases the memory that only reading and writing need.
    func releaseProtocolMemory() {}

    /// Whether frames may be waiting to be sent although `hasNews` is false.
    var hasQueuedFrames: Bool { false }
    /// Whether frames are waiting that can be sent now, apart from the channel. It may take longer to find out.
    var wantsToWrite: Bool { false }
    /// The number of frames that the peer has not taken.
    var queuedFrames: Int { 0 }
    /// Whether nothing more will be read or sent (RFC 9113, 6.8).
    var isProtocolFinished: Bool { true }

    /// The peer's settings. Before its SETTINGS have come, these are the protocol's initial values.
    package var peerSettings: PeerSettings { PeerSettings(streamWindowBytes: 0, maxFrameBytes: 0) }
    /// Server: whether the client has not acknowledged SETTINGS yet. Until it does, the greater of the two numbers of
    /// streams applies. If this takes too long, an application that has lowered the number for safety ends the
    /// connection with SETTINGS_TIMEOUT (RFC 9113, 6.5.3).
    package var hasUnacknowledgedSettings: Bool { false }
    /// Since when fields come of which a part is missing, if the application was not told of them; nil if there are
    /// none. libnghttp2 tells of them as soon as they begin.
    var unfinishedFieldsSince: NIODeadline? { nil }
    /// Server, with `observesEncoding`: the requests that came too late to be processed. Complete when the session has
    /// closed.
    package var unprocessedStreams: UnprocessedStreams { UnprocessedStreams() }
    /// Server: the client may have this many streams open, at most `maxConcurrentStreams`.
    func announceStreams(_ number: Int) {}
    /// Server: whether a stream that begins is within the announced number.
    var admitsStream: Bool { false }
    /// The number of streams that the peer's SETTINGS allow; a very large number if they set no limit.
    var peerMaxConcurrentStreams: Int { 0 }
    /// Client: whether a request can begin, apart from the number of open ones.
    var allowsRequests: Bool { false }

    /// Client: whether there is a number for one more stream.
    var hasStreamNumbers: Bool { false }

    /// Client: begins a request, which gets its number at once.
    func submitRequest(_ headers: borrowing HeaderBlock, _ body: OutboundBody?) throws(HTTP2Error) -> StreamID {
        throw HTTP2Error(.notActive)
    }
    /// Server: begins a response. Without a body, it is complete.
    func submitResponse(_ stream: StreamID, _ headers: borrowing HeaderBlock, _ body: OutboundBody?) -> Bool { false }
    /// A body has more bytes, or is finished.
    func resume(_ body: OutboundBody) {}
    func submitReset(_ stream: StreamID, _ code: HTTP2ErrorCode) {}
    func submitPing(_ payload: UInt64) {}
    func submitGoAway(_ last: StreamID, _ code: HTTP2ErrorCode, _ debugData: [UInt8]) {}
    /// Server: the first GOAWAY of a drain, with the drain's debug data and stream 2^31-1 (RFC 9113, 6.8). A PING
    /// follows it.
    func submitShutdownNotice() {}

    /// Received bytes of a body need no more room: the windows of the connection and of the stream may be opened.
    func consume(_ stream: StreamID, _ count: Int) {}
    /// The same for the connection's window only. The stream's stays as it is.
    func consumeOfConnection(_ stream: StreamID, _ count: Int) {}
    /// Received bytes will not open the stream's window from now on.
    func holdWindow(_ stream: StreamID) {}
    /// Opens the stream's window again, by the number of bytes that came while it was held.
    func openWindow(_ stream: StreamID, _ count: Int) {}

    /// Whether requests are accepted: the session is active and not ending.
    package var isActive: Bool { state == .active }

    // MARK: ChannelInboundHandler

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { start(context) }
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        teardown(.peerClosed)
        self.context = nil
    }

    package func channelActive(context: ChannelHandlerContext) {
        start(context)
        context.fireChannelActive()
    }

    package func channelInactive(context: ChannelHandlerContext) {
        teardown(.peerClosed)
        context.fireChannelInactive()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        receive(unwrapInboundIn(data))
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        if state == .active { application?.batchEnded() }
        flush()
        if releasesIdleMemory { worked(context) }
        // Do nothing: no handler after the session reads, and the channel continues to read by itself.
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        isWritable = context.channel.isWritable
        if isWritable, !isReading { flush() }
        context.fireChannelWritabilityChanged()
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if end == nil { end = .channelError(error) }
        context.close(promise: nil)
    }

    // MARK: Beginning and end

    private func start(_ context: ChannelHandlerContext) {
        guard state == .idle else { return }
        isWritable = context.channel.isWritable
        guard beginProtocol() else {
            end = .protocolError(.internalError, "out of memory")
            context.close(promise: nil)
            return
        }
        state = .active
        application?.sessionBecameActive(self)
        flush()
    }

    /// Calls the application for the last time and releases everything.
    ///
    /// A channel that could not connect has had no session, so the application is not told of an end: whoever connects
    /// learns the cause, and tries the host's next address with the same application.
    func teardown(_ reason: SessionEnd) {
        guard state != .closed else { return }
        if isInProtocol {
            pendingTeardown = reason
            return
        }
        let hasBegun = state != .idle || end != nil
        state = .closed
        let application = application
        held = nil
        // The scheduled check would keep the session and its memory alive until its time.
        idleCheck?.cancel()
        idleCheck = nil
        closeTimeout?.cancel()
        let code = if case .protocolError(let code, _) = end { code } else { HTTP2ErrorCode.cancel }
        for (stream, _) in streams.removeAll() { application?.streamClosed(stream, error: code) }
        endProtocol()
        output = ByteBuffer()
        bufferedBytes = 0
        if hasBegun { application?.sessionClosed(end ?? reason) }
        whenEnded?(end ?? reason)
        whenEnded = nil
    }

    /// Calls the application without counting a reference.
    @inline(__always)
    func callApplication(_ body: (any HTTP2Application) -> Void) {
        receiver?._withUnsafeGuaranteedRef { body($0.application) }
    }

    /// Runs the protocol's part, and then does what had to wait for its end. Call it only if it does not run already.
    @inline(__always)
    func runProtocol<Result>(_ body: () -> Result) -> Result {
        isInProtocol = true
        let result = body()
        isInProtocol = false
        if let reason = pendingTeardown {
            pendingTeardown = nil
            teardown(reason)
        }
        return result
    }

    /// Whether frames can be submitted.
    var canSubmit: Bool { state == .active && !hasFailed }

    /// Begins to close the session: reads nothing more, calls the application no more, writes the queue and closes the
    /// channel.
    func beginClosing(_ reason: SessionEnd) {
        guard state == .active else { return }
        state = .closing
        if end == nil { end = reason }
        scheduleFlush()
    }
}
