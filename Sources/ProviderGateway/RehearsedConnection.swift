import HTTP2
import Matching
import NIOCore
import Notifications

/// What rehearsals have done to a connection, and will do. All of it is bounded by the streams that the connection has open,
/// and ends with them.
struct RehearsedConnection {
    /// What goes wrong with answers that have not come yet.
    private var faults: [StreamID: RequestFault] = [:]
    /// Answers that are late.
    private var timers: [StreamID: Scheduled<Void>] = [:]
    /// Since when a request hangs.
    private(set) var hanging: [StreamID: NIODeadline] = [:]
    /// Instead of the gateway's own number.
    var concurrentStreams: Int?
    private var goAway: GoAway?

    private struct GoAway {
        var reason: Rejection.Reason
        /// How many more requests are answered before.
        var left: Int
    }

    /// The streams whose answers are late or never come.
    var held: [StreamID] { Array(hanging.keys) + Array(timers.keys) }

    mutating func set(_ fault: RequestFault, on stream: StreamID) { faults[stream] = fault }

    mutating func takeFault(of stream: StreamID) -> RequestFault? { faults.removeValue(forKey: stream) }

    mutating func hang(_ stream: StreamID, since now: NIODeadline) { hanging[stream] = now }

    mutating func wait(_ timer: Scheduled<Void>, on stream: StreamID) {
        timers.updateValue(timer, forKey: stream)?.cancel()
    }

    mutating func timerFired(on stream: StreamID) { timers[stream] = nil }

    /// The stream is gone.
    mutating func forget(_ stream: StreamID) {
        faults[stream] = nil
        hanging[stream] = nil
        timers.removeValue(forKey: stream)?.cancel()
    }

    /// Of several GOAWAYs, the one that is due first.
    mutating func plan(_ reason: Rejection.Reason, after left: Int) {
        guard left < goAway?.left ?? .max else { return }
        goAway = GoAway(reason: reason, left: left)
    }

    /// A request was answered.
    /// - Returns: the reason of the GOAWAY that is due.
    mutating func countAnswer() -> Rejection.Reason? {
        guard let planned = goAway else { return nil }
        goAway?.left -= 1
        return planned.left <= 1 ? takeGoAway() : nil
    }

    /// The reason of a GOAWAY that waits for no answer.
    mutating func dueGoAway() -> Rejection.Reason? { goAway?.left == 0 ? takeGoAway() : nil }

    private mutating func takeGoAway() -> Rejection.Reason? {
        defer { goAway = nil }
        return goAway?.reason
    }
}
