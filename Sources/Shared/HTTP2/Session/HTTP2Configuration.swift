package import HTTP2Core
package import NIOCore

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

    /// The largest number of frames that are submitted while the peer does not read: four for each of 1,000 streams.
    /// `EndpointLimits.maxUnsentReplies` limits those that answer the peer's.
    package var maxQueuedFrames = 4_096

    /// Whether an idle session returns the memory that only reading and writing need to the system. Useful for many
    /// connections that are mostly idle: see `TLSBuffers`.
    package var idleMemory = IdleMemory.kept

    /// The limits of the protocol. Values may begin or end with a blank: the application answers what is wrong with
    /// them, while some clients wait in vain after a stream error.
    package var limits = {
        var limits = EndpointLimits()
        limits.allowsBlanksAroundValues = true
        return limits
    }()

    /// Server: whether `HTTP2Session.unprocessedStreams` has the requests that came too late.
    package var observesUnprocessed = false

    /// How long `close()` waits until the peer has taken the last bytes, in seconds.
    package var closeTimeoutSeconds: Int64 = 5

    /// Server: when a stream is reset with NO_ERROR whose answer was sent before the request had ended (RFC 9113, 8.1).
    package var earlyReset = EarlyReset.withAnswer

    /// How long the reset of ``EarlyReset/onceRead`` waits after the client has acknowledged the PING, in milliseconds.
    /// curl 7.88 acknowledges it when it has read the answer from the socket, and looks at the answer soon after: with
    /// 30 uploads side by side 20 milliseconds were enough, and none were not.
    package var earlyResetDelayMilliseconds: Int64 = 100

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
