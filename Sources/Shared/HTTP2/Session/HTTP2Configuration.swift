package import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The limits and sizes of a session. Each has a default that suits small requests with small answers.
package struct HTTP2Configuration: Sendable {
    // The first members are used for each frame of a body. They are next to each other, because the session has a copy
    // of this value and reads them together.

    /// The largest body of one stream, in bytes; nil for no limit, as a response that stays open for days needs.
    /// Further bytes count against flow control and are not passed to the application.
    package var maxBodyBytes: Int? = nil

    /// The number of unsent body bytes of one stream from which `write` returns `wait`. A socket takes about this much
    /// at once.
    package var streamHighMark = 65_536

    /// When `write` has returned `wait` for a stream, `writable` is called as soon as the stream has fewer unsent
    /// body bytes than this.
    package var streamLowMark = 16_384

    /// The largest number of unsent body bytes of all streams together. A write that would exceed it resets its stream.
    /// This protects the memory if an application ignores `streamHighMark`.
    package var maxBufferedBytes = 8_388_608

    /// The largest number of frames in the library's queue while the peer does not read. Three for each of 1,000
    /// streams (answer, window, reset) and the 1,000 acknowledgements that the library allows fit.
    package var maxQueuedFrames = 4_096

    /// Whether an idle session returns the memory that only reading and writing need to the system. Useful for many
    /// connections that are mostly idle: see `LibraryMemory` and `TLSBuffers`.
    package var idleMemory = IdleMemory.kept

    /// Server: the largest number of streams that may be announced to a client. As many are served until the client has
    /// acknowledged a smaller announcement. Client: the largest number of open requests, even if the server allows
    /// more. 1,000 is what the service allows a provider.
    package var maxConcurrentStreams = 1_000

    /// Server: SETTINGS_MAX_CONCURRENT_STREAMS of the first SETTINGS, at most `maxConcurrentStreams`;
    /// `HTTP2Session.announce(concurrentStreams:)` changes it later.
    package var announcedConcurrentStreams = 1_000

    /// Client: the largest number of open requests before the server's SETTINGS have come. RFC 9113 (6.5.2) recommends
    /// that servers allow at least 100.
    package var concurrentStreamsBeforeSettings = 100

    /// The largest header list that is accepted, in bytes, counted as for SETTINGS_MAX_HEADER_LIST_SIZE: each field's
    /// name and value, and 32 bytes (RFC 9113, 6.5.2). APNs allows 8,000. Fields beyond it are counted but not kept.
    package var maxHeaderListBytes = 8_000

    /// A header list that exceeds its limit this many times ends the connection. In an HPACK bomb one byte on the wire
    /// stands for up to 4 KiB of headers. Honest clients send at most some 30 KB of cookies, which is less.
    package var headerBombFactor = 8

    /// The flow-control window for what the peer sends on each stream, in bytes (RFC 9113, 6.9.2). The protocol's
    /// initial value has room for twelve of the largest notifications (5 KB).
    package var streamWindowBytes = 65_535

    /// The flow-control window for what the peer sends on the whole connection, in bytes. 1 MiB is 200 notifications of
    /// 5 KB. It needs no buffer here, because received bytes are passed on at once.
    package var connectionWindowBytes = 1_048_576

    /// The largest HPACK dynamic table in each direction, in bytes. This is the protocol's initial value.
    package var headerTableBytes = 4_096

    /// The encoding of header fields that must stay out of the peer's table (``HeaderBlock/Indexing/never``).
    package var literals = Literals.neverIndexed

    /// Server: whether the application gets the encoding of each header field
    /// (`HTTP2Application.headerEncoded(_:name:as:)`). The received bytes are then parsed a second time.
    package var observesEncoding = false

    /// The largest frame that is accepted, in bytes. No smaller value is allowed (RFC 9113, 6.5.2).
    package var maxFrameBytes = 16_384

    /// The largest number of CONTINUATION frames after one HEADERS (CVE-2024-28182). Eight have room for 128 KiB of
    /// compressed headers.
    package var maxContinuations = 8

    /// The largest number of entries in one SETTINGS frame. Seven kinds are in use, and 32 is the library's default.
    package var maxSettingsEntries = 32

    /// The rates of frames that cost us more than the peer.
    package var flood = FloodLimits()

    /// How long `close()` waits until the peer has taken the last bytes, in seconds.
    package var closeTimeoutSeconds: Int64 = 5

    /// Server: when a stream is reset with NO_ERROR whose answer was sent before the request had ended (RFC 9113, 8.1).
    package var earlyReset = EarlyReset.withAnswer

    /// How long the reset of ``EarlyReset/onceRead`` waits after the client has acknowledged the PING, in milliseconds.
    /// curl 7.88 acknowledges it when it has read the answer from the socket, and looks at the answer soon after: with
    /// 30 uploads side by side 20 milliseconds were enough, and none were not.
    package var earlyResetDelayMilliseconds: Int64 = 100

    /// The implementation of HTTP/2 below the session.
    package var implementation = Implementation.default

    package enum Implementation: Sendable, Hashable, CaseIterable {
        #if Service
            /// libnghttp2, which needs less CPU. A server's every push passes through it.
            case library
        #endif
        /// `HTTP2Core`, which needs no system library. A backend that depends on the libraries alone has it
        /// (docs/decisions/0077-http2-core.md).
        case core

        #if Service
            /// `CARILLON_HTTP2=core` in the environment chooses `HTTP2Core`, for tests and benchmarks.
            static let `default`: Self =
                getenv("CARILLON_HTTP2").map { String(cString: $0) } == "core" ? .core : .library
        #else
            static let `default` = Self.core
        #endif
    }

    /// How to encode a literal header field that is not added to HPACK's table (RFC 7541, 6.2).
    package enum Literals: Sendable, Hashable {
        /// Intermediaries must not add the field to their tables either (RFC 7541, 6.2.3). libnghttp2 writes this form.
        case neverIndexed
        /// Intermediaries may do so (RFC 7541, 6.2.2). The Guide asks this form of a provider (2.3.4.1).
        case withoutIndexing
    }

    /// When to reset a stream whose answer was sent before the request had ended.
    package enum EarlyReset: Sendable, Hashable {
        /// Together with the answer. Some clients, such as curl 7.88, drop the answer then.
        case withAnswer
        /// When the client has read the answer: it has acknowledged a PING that was sent after it. A client that does
        /// not acknowledge it keeps the stream until the application resets it, and can send no more than its window.
        case onceRead
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
