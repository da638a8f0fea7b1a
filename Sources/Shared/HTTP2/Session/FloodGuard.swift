package import NIOCore
import Rates

/// Counts frames that are cheap for a peer to send and expensive for us to handle, and detects when there are too many.
///
/// libnghttp2 1.52 itself limits CONTINUATION frames, entries of SETTINGS, unsent acknowledgements, and the server's
/// side of RST_STREAM. It leaves to its caller the frames that are handled at once and have no result, and streams that
/// the peer makes *us* reset. A peer that opens streams or reads data does useful work, so it may send the frames that
/// belong to it.
package struct FloodGuard: Sendable {
    /// The kinds of frames that are counted.
    package enum Kind: String, Sendable, CaseIterable {
        /// Open streams that the peer reset (rapid reset, CVE-2023-44487), or that we reset because of its faults
        /// (CVE-2025-8671): work that was begun and thrown away.
        case resets = "RST_STREAM"
        /// SETTINGS: each one is applied and acknowledged (CVE-2019-9515).
        case settings = "SETTINGS"
        /// PING: each one is answered (CVE-2019-9512).
        case pings = "PING"
        /// Frames that carry nothing: PRIORITY, WINDOW_UPDATE, DATA without content, header blocks and resets of closed streams
        /// (CVE-2019-9513, CVE-2019-9518), and DATA of a request that has had its answer.
        case idleFrames = "idle frames"
        /// Frames that libnghttp2 ignores without a callback: DATA of closed streams, and frames of unknown types. They
        /// cost little. Limits the total bytes, not the number of frames.
        case ignoredBytes = "bytes of no stream"
        /// A single header list that exceeds its limit many times. This is not a rate.
        case headers = "header bytes"
        /// CONTINUATION frames after one HEADERS; not a rate, counted by the library.
        case continuations = "CONTINUATION"
        /// Acknowledgements that the peer does not read; counted by the library.
        case acknowledgements = "unread acknowledgements"
    }

    /// The number of idle frames that a stream allows: its own HEADERS, CONTINUATION and windows, in both directions.
    static let idleFramesPerStream = 10
    /// The number of idle frames that each DATA frame we send allows: WINDOW_UPDATE of the stream and of the
    /// connection, and twice that for a peer that opens its windows in halves.
    static let idleFramesPerDataFrame = 4

    private let limits: FloodLimits
    private var resets = RateBucket()
    private var settings = RateBucket()
    private var pings = RateBucket()
    private var idleFrames = RateBucket()
    private var ignoredBytes = RateBucket()

    package init(limits: FloodLimits) { self.limits = limits }

    /// Counts a frame. Returns whether it is within its rate.
    package mutating func admit(_ kind: Kind, at now: NIODeadline) -> Bool {
        let now = now.uptimeNanoseconds
        return switch kind {
        case .resets: resets.admits(limits.resets, at: now)
        case .settings: settings.admits(limits.settings, at: now)
        case .pings: pings.admits(limits.pings, at: now)
        case .idleFrames: idleFrames.admits(limits.idleFrames, at: now)
        case .ignoredBytes, .headers, .continuations, .acknowledgements: false
        }
    }

    /// Counts bytes that the library ignored. Returns whether they are within their rate.
    package mutating func admit(ignoredBytes count: Int, at now: NIODeadline) -> Bool {
        ignoredBytes.admits(limits.ignoredBytes, at: now.uptimeNanoseconds, weight: UInt64(max(0, count)))
    }

    /// Called when a stream opens. It allows the frames that belong to a stream.
    package mutating func streamOpened() {
        earn(Self.idleFramesPerStream)
    }

    /// Called when we send a DATA frame. The peer will send WINDOW_UPDATE for it.
    package mutating func dataSent() {
        earn(Self.idleFramesPerDataFrame)
    }

    /// Called when we send a PING. The peer will acknowledge it.
    package mutating func pingSent() {
        pings.earn(limits.pings, events: 1)
    }

    private mutating func earn(_ frames: Int) {
        idleFrames.earn(limits.idleFrames, events: UInt64(frames))
    }
}
