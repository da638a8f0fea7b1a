import HTTP2
import Matching
import NIOCore

/// Observes how a provider uses its connection, apart from the requests: flow-control windows, and PING (Guide,
/// 2.3.3). The report uses this. It is one value for each connection, and the time is an argument.
struct ConnectionPractice {
    /// The size of the largest answer: reason, timestamp and detail. A client with a smaller window cannot read why
    /// its request was rejected before it sends WINDOW_UPDATE.
    static let answerBytes = 1024
    /// The number of WINDOW_UPDATE frames for each request that a client may need: one for its stream, one for the
    /// connection, and as many again for the answer's body.
    static let updatesPerRequest = 4
    /// The number of WINDOW_UPDATE frames that a client may send when it opens a connection.
    static let updatesAtStart = 10

    private(set) var requests = 0
    private var updates = 0
    private var hasNarrowWindow = false
    private var lastRequest: NIODeadline?
    /// The time of the last PING since the last request.
    private var lastPing: NIODeadline?

    mutating func settingsReceived(_ settings: PeerSettings) {
        hasNarrowWindow = settings.streamWindowBytes < Self.answerBytes
    }

    mutating func windowUpdateReceived() {
        if updates < .max { updates += 1 }
    }

    mutating func pingReceived(at now: NIODeadline) { lastPing = now }

    /// Records that a request begins.
    /// - Parameters:
    ///   - isIdle: whether no other request is open.
    ///   - silence: how long a connection may be idle before the client should check it with PING; 0 if it should do
    ///     so before each use.
    /// - Returns: the client's practices against the advice; empty unless somebody observes.
    mutating func requestBegan(
        isIdle: Bool,
        isObserved: Bool,
        silence: TimeAmount,
        at now: @autoclosure () -> NIODeadline,
    ) -> Set<RequestFacts.Practice> {
        if requests < .max { requests += 1 }
        guard isObserved else {
            lastRequest = nil
            return []
        }
        let now = now()
        var practices: Set<RequestFacts.Practice> = []
        if hasNarrowWindow { practices.insert(.narrowWindow) }
        if (updates - Self.updatesAtStart) / Self.updatesPerRequest >= requests { practices.insert(.windowUpdates) }
        if isIdle, let lastRequest, now - lastRequest >= silence, !isChecked(silence, now) {
            practices.insert(.unchecked)
        }
        lastRequest = now
        lastPing = nil
        return practices
    }

    /// Whether the client sent a PING in time. If no silence is allowed, one PING before each request is enough.
    private func isChecked(_ silence: TimeAmount, _ now: NIODeadline) -> Bool {
        guard let lastPing else { return false }
        return silence == .zero || now - lastPing < silence
    }
}
