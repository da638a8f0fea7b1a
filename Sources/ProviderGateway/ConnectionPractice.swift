import HTTP2
import Matching
import NIOCore

/// How a provider uses its connection beside its requests: windows, and PING (Guide, 2.3.3). The report judges it. One value
/// for each connection; the time is an argument.
struct ConnectionPractice {
    /// The largest answer: reason, timestamp and detail. A client with a smaller window cannot read why it was refused until
    /// it has sent WINDOW_UPDATE.
    static let answerBytes = 1024
    /// The number of WINDOW_UPDATE frames for each request that a client may need: one for its stream, one for the
    /// connection, and as many again for the answer's body.
    static let updatesPerRequest = 4
    /// What a client may send when it opens a connection.
    static let updatesAtStart = 10

    private(set) var requests = 0
    private var updates = 0
    private var hasNarrowWindow = false
    private var lastRequest: NIODeadline?
    /// The last PING since the last request.
    private var lastPing: NIODeadline?

    mutating func settingsReceived(_ settings: PeerSettings) {
        hasNarrowWindow = settings.streamWindowBytes < Self.answerBytes
    }

    mutating func windowUpdateReceived() {
        if updates < .max { updates += 1 }
    }

    mutating func pingReceived(at now: NIODeadline) { lastPing = now }

    /// A request begins.
    /// - Parameters:
    ///   - isIdle: whether no other request is open.
    ///   - silence: how long a connection may be idle before a good client checks it with PING; 0 if each use needs one.
    /// - Returns: what the client does against the advice; empty unless somebody observes.
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

    /// Whether PING came in time. Without any silence that is allowed, one PING before each request is enough.
    private func isChecked(_ silence: TimeAmount, _ now: NIODeadline) -> Bool {
        guard let lastPing else { return false }
        return silence == .zero || now - lastPing < silence
    }
}
