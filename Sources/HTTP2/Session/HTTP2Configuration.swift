package import NIOCore

/// The limits and sizes of a session. Each has a default that suits small requests with small answers.
package struct HTTP2Configuration: Sendable {
    // First what each frame of a body is measured by: a session has a copy of all this, and reads these together.

    /// The body accepted on one stream, in bytes; nil for any length, for the response that stays open for days.
    /// More is counted against flow control, not handed to the application.
    package var maxBodyBytes: Int? = nil

    /// Body bytes waiting on one stream from which on `write` says to stop: what the socket takes at one go.
    package var streamHighMark = 65_536

    /// Body bytes waiting on one stream below which `writable` is called, after the high mark was reached.
    package var streamLowMark = 16_384

    /// Body bytes waiting on all streams of the session. A write that would pass it resets its stream: the last line
    /// of defence when an application does not heed `streamHighMark`.
    package var maxBufferedBytes = 8_388_608

    /// Frames waiting in the library while the peer does not read. Three for each of 1,000 streams (answer, window,
    /// reset) and the 1,000 acknowledgements that the library itself allows stay below it.
    package var maxQueuedFrames = 4_096

    /// Whether an idle session returns to the system the memory that only reading and writing need. For many connections
    /// that are mostly idle: see `LibraryMemory` and `TLSBuffers`.
    package var idleMemory = IdleMemory.kept

    /// Server: how many streams a client may have open once it was announced; also the number served before the client
    /// has acknowledged a smaller announcement. Client: how many requests are open at once, however many more the
    /// server would allow. 1,000 is what the gateways allow a provider.
    package var maxConcurrentStreams = 1_000

    /// Server: SETTINGS_MAX_CONCURRENT_STREAMS of the first SETTINGS, at most `maxConcurrentStreams`;
    /// `HTTP2Session.announce(concurrentStreams:)` changes it later.
    package var announcedConcurrentStreams = 1_000

    /// Client: how many requests may be open before the server's SETTINGS have come. 100 is the least that RFC 9113
    /// (6.5.2) recommends a server to allow.
    package var concurrentStreamsBeforeSettings = 100

    /// The header list accepted, in bytes as SETTINGS_MAX_HEADER_LIST_SIZE counts them: name, value and 32 for each
    /// field (RFC 9113, 6.5.2). 8,000 is what APNs allows. A longer list is counted, not kept.
    package var maxHeaderListBytes = 8_000

    /// A header list this many times over the limit ends the connection: one byte on the wire can stand for 4 KiB of
    /// header (an HPACK bomb), while the greatest header an honest client sends, some 30 KB of cookies, stays below.
    package var headerBombFactor = 8

    /// The flow-control window of each stream for what the peer sends, in bytes (RFC 9113, 6.9.2). The protocol's own
    /// initial value holds the greatest notification (5 KB) twelve times.
    package var streamWindowBytes = 65_535

    /// The flow-control window of the whole connection for what the peer sends, in bytes. 1 MiB: 200 notifications of
    /// 5 KB on the way. Nothing is buffered for it here: what arrives is handed on at once.
    package var connectionWindowBytes = 1_048_576

    /// The greatest HPACK dynamic table, each way, in bytes. The protocol's own initial value.
    package var headerTableBytes = 4_096

    /// How header fields go out that are to stay out of the peer's table (``HeaderBlock/Indexing/never``).
    package var literals = Literals.neverIndexed

    /// Server: whether the application is told how each header field is encoded
    /// (`HTTP2Application.headerEncoded(_:name:as:)`). It costs a second look at what arrives.
    package var observesEncoding = false

    /// The greatest frame accepted, in bytes. The protocol's own least value (RFC 9113, 6.5.2).
    package var maxFrameBytes = 16_384

    /// CONTINUATION frames after one HEADERS (CVE-2024-28182). Eight hold 128 KiB of compressed header.
    package var maxContinuations = 8

    /// Entries of one SETTINGS frame: there are seven kinds in use, and 32 is the library's own default.
    package var maxSettingsEntries = 32

    /// How often a peer may do what costs us more than it.
    package var flood = FloodGuard.Limits()

    /// How long `close()` waits for the last bytes to be taken by the peer, in seconds.
    package var closeTimeoutSeconds: Int64 = 5

    /// Whether a stream whose answer was sent while the request was still coming is reset at once with NO_ERROR (RFC
    /// 9113, 8.1). Some clients, curl 7.88 among them, drop the answer when they see the reset; without it the client
    /// can send no more than its window, and the application resets the stream when it sees fit.
    package var resetsAfterEarlyAnswer = true

    /// The two literals that do not enter a table (RFC 7541, 6.2).
    package enum Literals: Sendable, Hashable {
        /// 6.2.3: an intermediary must not index the field either. libnghttp2 writes this form.
        case neverIndexed
        /// 6.2.2: the form that the Guide asks of a provider (2.3.4.1).
        case withoutIndexing
    }

    package enum IdleMemory: Sendable, Hashable {
        case kept
        /// The session has a timer with this interval, and releases the memory if no frame came or went during one.
        case releasedAfter(TimeAmount)
        /// The session releases the memory if no frame came or went between two calls of
        /// ``HTTP2Session/releaseMemoryIfIdle()``.
        case releasedOnRequest
    }

    package init() {}
}
