package import NIOCore
package import Rates

/// Counts what is cheap for a peer to send and dear for us to handle, and says when it is too much.
///
/// libnghttp2 1.52 by itself bounds CONTINUATION frames, entries of SETTINGS and acknowledgements that wait to be
/// sent, and the server's side of RST_STREAM. It leaves to its caller the frames that are handled at once and lead
/// nowhere, and streams that the peer makes *us* reset. A peer that opens streams or reads data does honest work
/// and earns room for the frames that come along with it.
package struct FloodGuard: Sendable {
    /// What is counted.
    package enum Kind: String, Sendable, CaseIterable {
        /// Streams reset by the peer (rapid reset, CVE-2023-44487), or by us for its faults (CVE-2025-8671).
        case resets = "RST_STREAM"
        /// SETTINGS: each one is applied and acknowledged (CVE-2019-9515).
        case settings = "SETTINGS"
        /// PING: each one is answered (CVE-2019-9512).
        case pings = "PING"
        /// Frames that carry nothing: PRIORITY, WINDOW_UPDATE, empty DATA, header blocks of closed streams
        /// (CVE-2019-9513, CVE-2019-9518), and DATA of a request that has had its answer.
        case idleFrames = "idle frames"
        /// Frames that the library passes over without telling: DATA of streams that are closed, and frames of unknown
        /// types. They cost little, so their bytes are counted and not they.
        case ignoredBytes = "bytes of no stream"
        /// One header list many times over its limit; not a rate.
        case headers = "header bytes"
        /// CONTINUATION frames after one HEADERS; not a rate, counted by the library.
        case continuations = "CONTINUATION"
        /// Acknowledgements that the peer does not read; counted by the library.
        case acknowledgements = "unread acknowledgements"
    }

    /// The rates, per connection.
    package struct Limits: Sendable, Hashable {
        /// A provider that gives up on everything in flight resets 1,000 streams at once; 33 a second is what the
        /// library itself allows after that.
        package var resets = Rate(burst: 1_000, perSecond: 33)
        /// A peer changes its settings at the start and now and then after.
        package var settings = Rate(burst: 50, perSecond: 1)
        /// Clients that measure bandwidth ping with each burst of data, ten times a second at most.
        package var pings = Rate(burst: 200, perSecond: 10)
        /// Browsers send a handful of PRIORITY at the start; the rest comes along with streams and data.
        package var idleFrames = Rate(burst: 2_000, perSecond: 100)
        /// In bytes. What is on its way when we reset streams fits the connection's window, 1 MiB; twice that, because the
        /// window opens again while the resets travel. A client that knows of them sends nothing more.
        package var ignoredBytes = Rate(burst: 2_097_152, perSecond: 65_536)

        package init() {}
    }

    /// How many idle frames a stream makes room for: its own HEADERS, CONTINUATION and windows, both ways.
    static let idleFramesPerStream = 10
    /// How many idle frames a DATA frame that we send makes room for: WINDOW_UPDATE of the stream and the connection,
    /// and as many again for a peer that opens its windows in halves.
    static let idleFramesPerDataFrame = 4

    private let limits: Limits
    private var resets = RateBucket()
    private var settings = RateBucket()
    private var pings = RateBucket()
    private var idleFrames = RateBucket()
    private var ignoredBytes = RateBucket()

    package init(limits: Limits) { self.limits = limits }

    /// Counts one and says whether it is still within its rate.
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

    /// Counts bytes that the library passed over and says whether they are still within their rate.
    package mutating func admit(ignoredBytes count: Int, at now: NIODeadline) -> Bool {
        ignoredBytes.admits(limits.ignoredBytes, at: now.uptimeNanoseconds, weight: UInt64(max(0, count)))
    }

    /// The peer opened a stream, or we did: room for the frames that come with it.
    package mutating func streamOpened() {
        earn(Self.idleFramesPerStream)
    }

    /// We sent a DATA frame, which the peer will give windows for.
    package mutating func dataSent() {
        earn(Self.idleFramesPerDataFrame)
    }

    private mutating func earn(_ frames: Int) {
        idleFrames.earn(limits.idleFrames, events: UInt64(frames))
    }
}
