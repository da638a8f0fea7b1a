package import Rates

/// The kinds of frames and bytes that are counted against floods.
package enum FloodKind: String, Sendable, CaseIterable {
    /// Open streams that the peer reset (rapid reset, CVE-2023-44487), or that we reset because of its faults
    /// (MadeYouReset, CVE-2025-8671): work that was begun and thrown away.
    case resets = "RST_STREAM"
    /// SETTINGS: each one is applied and acknowledged (CVE-2019-9515).
    case settings = "SETTINGS"
    /// PING: each one is answered (CVE-2019-9512).
    case pings = "PING"
    /// Frames that carry nothing: PRIORITY, WINDOW_UPDATE, DATA without content, interim responses, field blocks and resets
    /// of closed streams, and unknown types (CVE-2019-9513, CVE-2019-9518).
    case idleFrames = "idle frames"
    /// The bytes of DATA for closed streams, and of frames of unknown types.
    case ignoredBytes = "bytes of no stream"
    /// A single list of fields that exceeds its limit many times (an HPACK bomb). This is not a rate.
    case headers = "header bytes"
    /// CONTINUATION frames after one HEADERS, or the bytes of its block (CVE-2024-28182). This is not a rate.
    case continuations = "CONTINUATION"
    /// The entries of one SETTINGS frame. This is not a rate.
    case settingsEntries = "SETTINGS entries"
    /// Answers that the peer does not read. This is not a rate.
    case unsentReplies = "unread answers"
}

/// The rates for each connection.
package struct FloodLimits: Sendable, Hashable {
    /// A provider that cancels all open requests resets 1,000 streams at once. After that, 33 a second are
    /// libnghttp2's own default.
    package var resets = Rate(burst: 1_000, perSecond: 33)
    /// A peer changes its settings at the start and now and then after.
    package var settings = Rate(burst: 50, perSecond: 1)
    /// Clients that measure bandwidth ping with each burst of data, ten times a second at most.
    package var pings = Rate(burst: 200, perSecond: 10)
    /// Browsers send a handful of PRIORITY at the start; the rest comes along with streams and data.
    package var idleFrames = Rate(burst: 2_000, perSecond: 100)
    /// After we have reset streams, up to 1 MiB for them may still be under way, which is the connection's window.
    /// Twice that is allowed, because the window opens again before the resets arrive. After that, a peer sends nothing
    /// more for these streams.
    package var ignoredBytes = Rate(burst: 2_097_152, perSecond: 65_536)

    package init() {}
}

/// Counts frames that are cheap for a peer to send and expensive for us to handle (RFC 9113, 10.5).
///
/// A peer that opens streams or reads data does useful work, so it may send the frames that belong to it.
struct FloodGuard {
    /// The number of idle frames that a stream allows: its own HEADERS, CONTINUATION and windows, in both directions.
    private static let idleFramesPerStream: UInt64 = 10
    /// The number of idle frames that each DATA frame we send allows: WINDOW_UPDATE of the stream and of the
    /// connection, and twice that for a peer that opens its windows in halves.
    private static let idleFramesPerDataFrame: UInt64 = 4

    private let limits: FloodLimits
    private var resets = RateBucket()
    private var settings = RateBucket()
    private var pings = RateBucket()
    private var idleFrames = RateBucket()
    private var ignoredBytes = RateBucket()

    init(limits: FloodLimits) { self.limits = limits }

    /// Counts a reset of an open stream.
    mutating func countReset(at now: UInt64) throws(Fault) {
        guard resets.admits(limits.resets, at: now) else { throw Fault(flood: .resets) }
    }

    mutating func countSettings(at now: UInt64) throws(Fault) {
        guard settings.admits(limits.settings, at: now) else { throw Fault(flood: .settings) }
    }

    mutating func countPing(at now: UInt64) throws(Fault) {
        guard pings.admits(limits.pings, at: now) else { throw Fault(flood: .pings) }
    }

    mutating func countIdleFrame(at now: UInt64) throws(Fault) {
        guard idleFrames.admits(limits.idleFrames, at: now) else { throw Fault(flood: .idleFrames) }
    }

    mutating func countIgnored(_ bytes: Int, at now: UInt64) throws(Fault) {
        // fits: not negative
        guard ignoredBytes.admits(limits.ignoredBytes, at: now, weight: UInt64(max(0, bytes))) else {
            throw Fault(flood: .ignoredBytes)
        }
    }

    /// A stream opened. It allows the frames that belong to a stream.
    mutating func streamOpened() { idleFrames.earn(limits.idleFrames, events: Self.idleFramesPerStream) }

    /// We sent a PING. The peer will acknowledge it.
    mutating func pingSent() { pings.earn(limits.pings, events: 1) }

    /// We sent a DATA frame. The peer will send WINDOW_UPDATE for it.
    mutating func dataSent() { idleFrames.earn(limits.idleFrames, events: Self.idleFramesPerDataFrame) }
}
