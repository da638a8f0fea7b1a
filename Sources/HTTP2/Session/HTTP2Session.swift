import CNghttp2
package import Connections
package import NIOCore

/// One HTTP/2 connection (RFC 9113), server or client, as the last handler of a NIO channel that reads and writes.
///
/// libnghttp2 does the protocol; this type feeds it, tells an `HTTP2Application` what happened, and writes out what it
/// has to say, all of one batch in one write. There is no child channel and no task for a stream, and nothing of what
/// arrives is kept: the application sees the bytes where they lie.
///
/// Confined to the channel's event loop. TLS and ALPN, timeouts for the handshake, for idle connections and for slow
/// requests are the caller's. The session holds its application until the connection is over and then lets go of it,
/// so the two may refer to each other.
package final class HTTP2Session: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// Which side of the connection this is.
    package enum Role: Sendable {
        case server
        case client
    }

    enum State {
        /// The channel is not active yet.
        case idle
        /// Open for all.
        case active
        /// Nothing more is read, and the channel is closed once what is queued was written.
        case closing
        /// The application was told, libnghttp2's session is gone.
        case closed
    }

    // What each read and each write looks at stands together here, in three lines of the processor's cache: there are
    // thousands of sessions, and each line of each is waited for.

    /// Which side of the connection this is.
    package let role: Role
    var state = State.idle
    /// Whether libnghttp2 may have something to send, or may have finished. True if, since the last check, something
    /// was submitted, or a frame came that opens a window or closes a stream. DATA does so only if it ends its stream.
    var hasNews = true
    /// Whether bytes are being read: what is submitted meanwhile goes out when all were.
    var isReading = false
    /// Whether libnghttp2 is at work: its session must not be deleted, nor called again for the same direction.
    var isInLibrary = false
    /// libnghttp2's session gave up and must not be used any more.
    var hasLibraryFailed = false
    var isFlushing = false
    var isFlushScheduled = false
    /// `sendData` found no room in `output`.
    var isOutputFull = false
    /// Whether the channel takes more, as it last said.
    var isWritable = true
    var hasStartedClosing = false
    var activity = Activity.working
    var context: ChannelHandlerContext?
    /// libnghttp2's session: from the channel's becoming active until `teardown`.
    var library: OpaquePointer?
    /// The application once more, for what libnghttp2 calls back: some fifteen times for a request, and each time
    /// counting references to it cost as much as finding the stream. It is let go of in `teardown` only, which waits for
    /// libnghttp2 to return.
    private var receiver: Unmanaged<HeldApplication>?
    private var held: HeldApplication? { didSet { receiver = held.map { .passUnretained($0) } } }
    var streams = StreamTable<StreamState>()
    var output = ByteBuffer()
    /// Body bytes that wait to be sent, on all streams.
    package internal(set) var bufferedBytes = 0
    /// When the bytes came that are being read: the clock is looked at once for all of them.
    var readTime = NIODeadline.distantPast
    /// Where libnghttp2's memory comes from, where some of it is given back while nothing is sent.
    var memory: LibraryMemory?
    /// The next look at whether anything came or went.
    var idleCheck: Scheduled<Void>?
    var ignored = IgnoredBytes()
    /// How many open streams have the flag `answeredEarly`.
    var earlyAnswers = 0

    /// The limits and sizes.
    package let configuration: HTTP2Configuration

    /// Told of the end as well, after the application: for whoever accepted the connection.
    package var whenEnded: ((SessionEnd) -> Void)?
    /// Why the session ends, once that is known.
    var end: SessionEnd?
    /// The channel ended while libnghttp2 was at work.
    var pendingTeardown: SessionEnd?

    // Receiving
    var block = IncomingBlock()
    /// How header fields are encoded, where somebody wants to know; in a place of its own, as hardly anybody does.
    let encodings: ObservedEncodings?
    var flood: FloodGuard
    /// What arrived is a flood: set within a callback, acted on when libnghttp2 has returned.
    var floodKind: FloodGuard.Kind?
    var concurrency: ConcurrencyLimit
    /// The first bytes received, kept until they proved to be HTTP/2.
    var prefix: [UInt8] = []

    // Sending
    /// Streams whose answer was sent while the request was still coming: RST_STREAM is due (RFC 9113, 8.1).
    var earlyResets: [StreamID] = []
    /// Streams that are owed a `writable`.
    var writableStreams: [StreamID] = []
    /// TLS's buffers; nil if the session does not release their memory.
    package var buffers: TLSBuffers?

    // Going away
    /// GOAWAY frames that were handed in and not yet written; any other one is libnghttp2's own.
    var queuedGoAways = 0
    var drain: Drain = .none
    /// The notice of a drain was written, and the PING that follows it was not submitted yet.
    var isDrainPingDue = false

    /// Whether the peer's preface has come, its first SETTINGS included (RFC 9113, 3.4): what a handshake timeout asks.
    package internal(set) var hasReceivedPreface = false
    /// Whether GOAWAY came from the peer.
    package internal(set) var hasReceivedGoAway = false
    /// Whether a final GOAWAY was handed in here; the notice that begins a drain does not count.
    package internal(set) var hasSubmittedGoAway = false
    /// Server: the greatest stream that the application was told of; what the last GOAWAY carries.
    package internal(set) var lastProcessedStream = StreamID.none

    /// The application in a place that never changes, so that nobody has to hold on to it to call it.
    private final class HeldApplication {
        let application: any HTTP2Application
        init(_ application: any HTTP2Application) { self.application = application }
    }

    var application: (any HTTP2Application)? { held?.application }

    /// Makes a session for a channel that is about to become active, or is already.
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
        // Only a handler that was never told of the end of its channel still has one.
        if let library { nghttp2_session_del(library) }
    }

    /// Whether the session takes requests: active, and not on its way out.
    package var isActive: Bool { state == .active }

    /// The peer's address, without the port; nil once the channel is gone.
    package var peerAddress: String? { context?.channel.remoteAddress?.host }

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
        // Nobody behind the session reads, and the channel reads on without being told.
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

    /// Tells the application of the end, once, and lets go of everything.
    func teardown(_ reason: SessionEnd) {
        guard state != .closed else { return }
        if isInLibrary {
            pendingTeardown = reason
            return
        }
        state = .closed
        let application = application
        held = nil
        // It would hold the session, and with it the pages around it, until its time.
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

    /// Tells the application something while libnghttp2 is at work.
    @inline(__always)
    func tell(_ body: (any HTTP2Application) -> Void) {
        receiver?._withUnsafeGuaranteedRef { body($0.application) }
    }

    /// Runs a piece of libnghttp2 and then what had to wait for it.
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

    /// Begins to close the session: it reads nothing more, calls the application no more, writes its queue and then
    /// closes the channel.
    func beginClosing(_ reason: SessionEnd) {
        guard state == .active else { return }
        state = .closing
        if end == nil { end = reason }
        scheduleFlush()
    }
}
