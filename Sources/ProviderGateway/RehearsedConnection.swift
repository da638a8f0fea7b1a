import HTTP2
import Matching
import NIOCore
import Notifications

/// The faults that rehearsals have planned or caused on one connection. They end with the connection's open streams,
/// whose number is limited.
struct RehearsedConnection {
    /// The faults of requests that have no answer yet, by stream.
    private var faults: [StreamID: RequestFault] = [:]
    /// The timers of delayed answers, by stream.
    private var timers: [StreamID: Scheduled<Void>] = [:]
    /// The streams that hang, with the time when they began to.
    private(set) var hanging: [StreamID: NIODeadline] = [:]
    /// The number of streams to announce in place of the gateway's own; nil if there is no such fault.
    var concurrentStreams: Int?
    private var goAway: GoAway?

    private struct GoAway {
        var reason: Rejection.Reason
        /// The number of requests that are still answered before it.
        var left: Int
    }

    /// The streams whose answers are delayed or never come.
    var held: [StreamID] { Array(hanging.keys) + Array(timers.keys) }

    mutating func set(_ fault: RequestFault, on stream: StreamID) { faults[stream] = fault }

    mutating func takeFault(of stream: StreamID) -> RequestFault? { faults.removeValue(forKey: stream) }

    mutating func hang(_ stream: StreamID, since now: NIODeadline) { hanging[stream] = now }

    mutating func wait(_ timer: Scheduled<Void>, on stream: StreamID) {
        timers.updateValue(timer, forKey: stream)?.cancel()
    }

    mutating func timerFired(on stream: StreamID) { timers[stream] = nil }

    /// Removes a stream that has ended.
    mutating func forget(_ stream: StreamID) {
        faults[stream] = nil
        hanging[stream] = nil
        timers.removeValue(forKey: stream)?.cancel()
    }

    /// Plans a GOAWAY. If several are planned, the first one that is due counts.
    mutating func plan(_ reason: Rejection.Reason, after left: Int) {
        guard left < goAway?.left ?? .max else { return }
        goAway = GoAway(reason: reason, left: left)
    }

    /// Counts a request that was answered.
    /// - Returns: The reason of the GOAWAY that is now due; nil if none is.
    mutating func countAnswer() -> Rejection.Reason? {
        guard let planned = goAway else { return nil }
        goAway?.left -= 1
        return planned.left <= 1 ? takeGoAway() : nil
    }

    /// Returns the reason of a GOAWAY that waits for no answer; nil if there is none.
    mutating func dueGoAway() -> Rejection.Reason? { goAway?.left == 0 ? takeGoAway() : nil }

    private mutating func takeGoAway() -> Rejection.Reason? {
        defer { goAway = nil }
        return goAway?.reason
    }
}
