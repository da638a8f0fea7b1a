import CNghttp2
package import Connections
package import NIOCore

/// One HTTP/2 connection (RFC 9113), server or client: the last handler of a NIO channel.
///
/// libnghttp2 implements the protocol. This type passes the received bytes to it, calls an `HTTP2Application` with the
/// events, and writes the frames of a batch in one write. Streams have no child channels and no tasks. Received bytes
/// are not kept: the application gets spans of them.
///
/// Confined to the channel's event loop. TLS, ALPN and time limits for the handshake, idle connections and slow
/// requests are the caller's task. The session holds its application until the connection has ended, so the two may
/// refer to each other.
package final class HTTP2Session: ChannelInboundHandler {
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
        /// The application has had its last call, and libnghttp2's session is deleted.
        case closed
    }

    // The members that each read and write use are next to each other, in three cache lines: with thousands of
    // sessions, each access to another line waits for memory.

    /// The side of the connection.
    package let role: Role
    var state = State.idle
    /// Whether libnghttp2 may have something to send, or may have finished. It is true if something was submitted since
    /// the last check, or if a frame came that opens a window or closes a stream. DATA closes a stream only if it has
    /// END_STREAM.
    var hasNews = true
    /// Whether bytes are being read. Frames that are submitted meanwhile are sent at the end.
    var isReading = false
    /// Whether a call of libnghttp2 is running. Its session must not be deleted then, nor called again in the same
    /// direction.
    var isInLibrary = false
    /// libnghttp2's session has failed and must not be used any more.
    var hasLibraryFailed = false
    var isFlushing = false
    var isFlushScheduled = false
    /// Set if `sendData` finds no room in `output`.
    var isOutputFull = false
    /// Whether the channel is writable, as it last reported.
    var isWritable = true
    var hasStartedClosing = false
    var activity = Activity.working
    var context: ChannelHandlerContext?
    /// libnghttp2's session; nil before the channel is active and after `teardown`.
    var library: OpaquePointer?
    /// The application without reference counting, for libnghttp2's callbacks. There are about fifteen for each
    /// request, and counting a reference costs as much as finding the stream. Only `teardown` releases the
    /// application, after libnghttp2 has returned.
    private var receiver: Unmanaged<HeldApplication>?
    private var held: HeldApplication? { didSet { receiver = held.map { .passUnretained($0) } } }
    var streams = StreamTable<StreamState>()
    var output = ByteBuffer()
    /// The unsent body bytes of all streams.
    package internal(set) var bufferedBytes = 0
    /// When the bytes that are being read arrived. The clock is read once for all of them.
    var readTime = NIODeadline.distantPast
    /// libnghttp2's allocator, if some of its memory is released while the session is idle.
    var memory: LibraryMemory?
    /// The next check whether the session is idle.
    var idleCheck: Scheduled<Void>?
    var ignored = IgnoredBytes()
    /// The number of open streams with the flag `answeredEarly`.
    var earlyAnswers = 0

    /// The limits and sizes.
    package let configuration: HTTP2Configuration

    /// Called at the end, after the application, for the code that accepted the connection.
    package var whenEnded: ((SessionEnd) -> Void)?
    /// Why the session ends; nil until that is known.
    var end: SessionEnd?
    /// Set if the channel ended during a call of libnghttp2.
    var pendingTeardown: SessionEnd?

    // Receiving
    var block = IncomingBlock()
    /// The encodings of header fields; nil unless they are observed. It is a separate object, because few connections
    /// need it.
    let encodings: ObservedEncodings?
    var flood: FloodGuard
    /// Set in a callback if the peer floods us. It is handled when libnghttp2 has returned.
    var floodKind: FloodGuard.Kind?
    var concurrency: ConcurrencyLimit
    /// The first bytes of the connection, kept until they are known to be HTTP/2.
    var prefix: [UInt8] = []

    // Sending
    /// Streams whose answer was sent while the request was still coming: RST_STREAM is due (RFC 9113, 8.1).
    var earlyResets: [StreamID] = []
    /// Streams whose applications wait for `writable`.
    var writableStreams: [StreamID] = []
    /// TLS's buffers; nil if the session does not release their memory.
    package var buffers: TLSBuffers?

    // Going away
    /// GOAWAY frames that the session submitted and libnghttp2 has not written; it writes any other by itself.
    var queuedGoAways = 0
    var drain: Drain = .none
    /// The first GOAWAY of a drain was written, and the PING after it was not submitted yet.
    var isDrainPingDue = false

    /// Whether the peer's preface has come, including its first SETTINGS (RFC 9113, 3.4). The handshake's time limit
    /// uses it.
    package internal(set) var hasReceivedPreface = false
    /// Whether the peer has sent GOAWAY.
    package internal(set) var hasReceivedGoAway = false
    /// Whether a final GOAWAY was submitted. The first GOAWAY of a drain does not count.
    package internal(set) var hasSubmittedGoAway = false
    /// Server: the highest stream that the application has seen. The last GOAWAY names it.
    package internal(set) var lastProcessedStream = StreamID.none

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
        let held = HeldApplication(application)
        self.held = held
        receiver = .passUnretained(held)
        encodings = role == .server && configuration.observesEncoding ? ObservedEncodings() : nil
        concurrency = ConcurrencyLimit(full: configuration.maxConcurrentStreams)
        flood = FloodGuard(limits: configuration.flood)
    }

    deinit {
        // Only needed if the handler was never told that the channel ended.
        if let library { nghttp2_session_del(library) }
    }

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
        if memory != nil { worked(context) }
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
        if configuration.idleMemory != .kept { memory = LibraryMemory() }
        guard let library = LibrarySession.make(role, configuration, owner: self, memory: memory) else {
            end = .protocolError(.internalError, "out of memory")
            context.close(promise: nil)
            return
        }
        self.library = library
        state = .active
        submitFirstSettings(library)
        application?.sessionBecameActive(self)
        flush()
    }

    /// Calls the application for the last time and releases everything.
    func teardown(_ reason: SessionEnd) {
        guard state != .closed else { return }
        if isInLibrary {
            pendingTeardown = reason
            return
        }
        state = .closed
        let application = application
        held = nil
        // The scheduled check would keep the session and its memory alive until its time.
        idleCheck?.cancel()
        idleCheck = nil
        let code = if case .protocolError(let code, _) = end { code } else { HTTP2ErrorCode.cancel }
        for (stream, _) in streams.removeAll() { application?.streamClosed(stream, error: code) }
        if let library { nghttp2_session_del(library) }
        library = nil
        output = ByteBuffer()
        bufferedBytes = 0
        application?.sessionClosed(end ?? reason)
        whenEnded?(end ?? reason)
        whenEnded = nil
    }

    /// Calls the application during a call of libnghttp2.
    @inline(__always)
    func callApplication(_ body: (any HTTP2Application) -> Void) {
        receiver?._withUnsafeGuaranteedRef { body($0.application) }
    }

    /// Calls libnghttp2, and then does what had to wait for the end of the call.
    func withLibrary<Result>(_ body: (OpaquePointer) -> Result) -> Result? {
        guard let library, !isInLibrary, !hasLibraryFailed else { return nil }
        isInLibrary = true
        let result = body(library)
        isInLibrary = false
        if let reason = pendingTeardown {
            pendingTeardown = nil
            teardown(reason)
        }
        return result
    }

    /// Begins to close the session: reads nothing more, calls the application no more, writes the queue and closes the
    /// channel.
    func beginClosing(_ reason: SessionEnd) {
        guard state == .active else { return }
        state = .closing
        if end == nil { end = reason }
        scheduleFlush()
    }
}
