package import Connections
package import HTTP2Core
package import NIOCore

/// The peer's settings (RFC 9113, 6.5.2).
package typealias PeerSettings = HTTP2Core.Settings

/// One HTTP/2 connection (RFC 9113), server or client: the last handler of a NIO channel.
///
/// It drives an `HTTP2Endpoint`, which has the protocol: it passes the received bytes on, calls an `HTTP2Application`
/// with the events, and writes the frames of a batch in one write. Streams have no child channels and no tasks.
/// Received bytes are not kept: the application gets spans of them.
///
/// Confined to the channel's event loop. TLS, ALPN and time limits for the handshake, idle connections and slow
/// requests are the caller's task. The session holds its application until the connection has ended, so the two may
/// refer to each other.
package final class HTTP2Session: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// The side of the connection.
    package typealias Role = HTTP2Core.Role

    enum State {
        /// The channel is not active yet.
        case idle
        /// Requests can be made and answered.
        case active
        /// No request is processed any more. The channel is closed when the queued frames are written.
        case closing
        /// The application has had its last call, and the memory is released.
        case closed
    }

    // The members that each read and write use are next to each other: with thousands of sessions, each access to
    // another cache line waits for memory.

    /// The side of the connection.
    package let role: Role
    var state = State.idle
    /// Whether there may be something to send, or the protocol may have finished. It is true if something was submitted
    /// since the last check, or if an event came.
    var hasNews = true
    /// Whether bytes are being read. Frames that are submitted meanwhile are sent at the end.
    var isReading = false
    /// Whether events are being handled. The application may close the channel meanwhile, which then has to wait.
    var isHandlingEvents = false
    var isFlushing = false
    var isFlushScheduled = false
    /// Whether the channel is writable, as it last reported.
    var isWritable = true
    var hasStartedClosing = false
    var activity = Activity.working
    var context: ChannelHandlerContext?
    /// The application without reference counting. There are several calls for each request, and counting a reference
    /// costs as much as finding the stream. Only `teardown` releases the application, after all events were handled.
    private var receiver: Unmanaged<HeldApplication>?
    private var held: HeldApplication? { didSet { receiver = held.map { .passUnretained($0) } } }
    var streams = StreamTable<StreamState>()
    var output = ByteBuffer()
    /// The unsent body bytes of all streams.
    package internal(set) var bufferedBytes = 0
    /// The bodies with bytes that were not sent yet, in the order in which they get their turn.
    var unsentBodies: [OutboundBody] = []
    /// The number of frames that were submitted since the endpoint's output was last taken.
    var unsentFrames = 0
    /// Whether some memory is released while the session is idle.
    let releasesIdleMemory: Bool
    /// The next check whether the session is idle.
    var idleCheck: Scheduled<Void>?
    /// The number of open streams with the flag `answeredEarly`.
    var earlyAnswers = 0

    /// The protocol.
    var endpoint: HTTP2Endpoint
    /// The limits and sizes.
    package let configuration: HTTP2Configuration

    /// Called at the end, after the application, for the code that accepted the connection.
    package var whenEnded: ((SessionEnd) -> Void)?
    /// Server: called for each request that was refused or reset because of the peer's fault, for the code that accepted the
    /// connection.
    package var whenFaulty: ((Fault) -> Void)?
    /// Why the session ends; nil until that is known.
    var end: SessionEnd?
    /// Set if the channel ended while events were handled.
    var pendingTeardown: SessionEnd?
    /// Whether bytes were dropped while the channel was being closed. What comes after them has no meaning.
    var hasSkippedBytes = false
    /// Closes the channel if the peer does not take the last bytes in time; nil before the session is closing.
    var closeTimeout: Scheduled<Void>?

    // Receiving
    /// The first bytes of the connection, kept until they are known to be HTTP/2.
    var prefix: [UInt8] = []
    /// Server, with `observesUnprocessed`: the requests that came too late to be processed. Complete when the session has
    /// closed.
    package internal(set) var unprocessedStreams = UnprocessedStreams()

    // Sending
    /// Streams whose answer was sent while the request was still coming: RST_STREAM is due (RFC 9113, 8.1).
    var earlyResets: [StreamID] = []
    /// The same, if the reset waits until the peer has read the answer.
    var readAnswers = ReadAnswers()
    /// Streams whose applications wait for `writable`.
    var writableStreams: [StreamID] = []
    /// TLS's buffers; nil if the session does not release their memory.
    package var buffers: TLSBuffers?
    /// The number of bytes that are written at once. NIOSSL keeps a buffer of that size.
    package var writeBytes = HTTP2Session.outputBytes

    // Going away
    var drain: Drain = .none
    /// The first GOAWAY of a drain was written, and the PING after it was not submitted yet.
    var isDrainPingDue = false
    /// Whether a final GOAWAY was submitted. The first GOAWAY of a drain does not count.
    package internal(set) var hasSubmittedGoAway = false

    /// Holds the application, so that it can be called without counting a reference.
    private final class HeldApplication {
        let application: any HTTP2Application
        init(_ application: any HTTP2Application) { self.application = application }
    }

    var application: (any HTTP2Application)? { held?.application }

    /// Makes a session for a channel that is active or becomes active later.
    package init(role: Role, configuration: HTTP2Configuration, application: any HTTP2Application) {
        self.role = role
        self.configuration = configuration
        endpoint = HTTP2Endpoint(role: role, limits: configuration.limits)
        let held = HeldApplication(application)
        self.held = held
        receiver = .passUnretained(held)
        releasesIdleMemory = configuration.idleMemory != .kept
        endpoint.tellsIgnored = role == .server && configuration.observesUnprocessed
    }

    /// Whether requests are accepted: the session is active and not ending.
    package var isActive: Bool { state == .active }

    /// The peer's settings. Before its SETTINGS have come, these are the protocol's initial values.
    package var peerSettings: PeerSettings { endpoint.peerSettings }

    /// Server: whether the client has not acknowledged SETTINGS yet. Until it does, the greater of the two numbers of
    /// streams applies. If this takes too long, an application that has lowered the number for safety ends the
    /// connection with SETTINGS_TIMEOUT (RFC 9113, 6.5.3).
    package var hasUnacknowledgedSettings: Bool { endpoint.hasUnacknowledgedSettings }

    /// Whether the peer's preface has come, including its first SETTINGS (RFC 9113, 3.4). The handshake's time limit
    /// uses it.
    package var hasReceivedPreface: Bool { endpoint.hasReceivedSettings }

    /// Whether the peer has sent GOAWAY.
    package var hasReceivedGoAway: Bool { endpoint.receivedGoAway != nil }

    /// Server: the highest stream that the application has seen. The last GOAWAY names it.
    package var lastProcessedStream: StreamID { endpoint.lastProcessedStream }

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
        receive(unwrapInboundIn(data), at: context.eventLoop.now)
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
        if isHandlingEvents {
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
        endpoint.close()
        unsentBodies = []
        output = ByteBuffer()
        bufferedBytes = 0
        if hasBegun { application?.sessionClosed(end ?? reason) }
        whenEnded?(end ?? reason)
        whenEnded = nil
        whenFaulty = nil
    }

    /// Calls the application without counting a reference.
    @inline(__always)
    func callApplication(_ body: (any HTTP2Application) -> Void) {
        receiver?._withUnsafeGuaranteedRef { body($0.application) }
    }

    /// Handles events, and then does what had to wait for their end. Call it only if no events are being handled.
    @inline(__always)
    func handlingEvents<Result>(_ body: () -> Result) -> Result {
        isHandlingEvents = true
        let result = body()
        isHandlingEvents = false
        if let reason = pendingTeardown {
            pendingTeardown = nil
            teardown(reason)
        }
        return result
    }

    /// Whether frames can be submitted.
    var canSubmit: Bool { state == .active }

    /// Begins to close the session: processes nothing more, writes the queue and closes the channel.
    func beginClosing(_ reason: SessionEnd) {
        guard state == .active else { return }
        state = .closing
        if end == nil { end = reason }
        scheduleFlush()
    }
}
