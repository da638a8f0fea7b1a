import HTTP2
import NIOCore
import Notifications

/// The faults that rehearsals have planned or caused on one connection. They end with the connection's open streams,
/// whose number is limited.
struct ConnectionFaults {
    /// The timers of delayed answers, by stream.
    private var timers: [StreamID: Scheduled<Void>] = [:]
    /// The streams that hang, with the time when they began to.
    private(set) var hanging: [StreamID: NIODeadline] = [:]
    private var goAway: GoAway?

    private struct GoAway {
        var reason: Rejection.Reason
        /// The request that caused it, until that is answered. Nothing is counted before.
        var cause: StreamID?
        /// The number of requests that are still answered before it.
        var left: Int
    }

    /// The streams whose answers are delayed or never come.
    var held: [StreamID] { Array(hanging.keys) + Array(timers.keys) }

    mutating func hang(_ stream: StreamID, since now: NIODeadline) { hanging[stream] = now }

    mutating func wait(_ timer: Scheduled<Void>, on stream: StreamID) {
        timers.updateValue(timer, forKey: stream)?.cancel()
    }

    mutating func timerFired(on stream: StreamID) { timers[stream] = nil }

    /// Removes a stream that has ended.
    /// - Returns: The reason of the GOAWAY that is now due, because the request that caused it has ended without an
    ///   answer; nil if none is.
    mutating func forget(_ stream: StreamID) -> Rejection.Reason? {
        hanging[stream] = nil
        timers.removeValue(forKey: stream)?.cancel()
        return goAway?.cause == stream ? countAnswer(of: stream) : nil
    }

    /// Plans a GOAWAY. If several are planned, the one with the fewest answers before it counts.
    mutating func plan(_ reason: Rejection.Reason, after left: Int, causedBy stream: StreamID) {
        guard left < goAway?.left ?? .max else { return }
        goAway = GoAway(reason: reason, cause: stream, left: left)
    }

    /// Counts a request that was answered. The one that caused the GOAWAY comes before it and is not counted, because
    /// clients with python-h2 refuse every frame after a GOAWAY.
    /// - Returns: The reason of the GOAWAY that is now due; nil if none is.
    mutating func countAnswer(of stream: StreamID) -> Rejection.Reason? {
        guard let planned = goAway else { return nil }
        if planned.cause == stream {
            goAway?.cause = nil
        } else {
            guard planned.cause == nil else { return nil }
            goAway?.left -= 1
        }
        guard let left = goAway?.left, left <= 0 else { return nil }
        goAway = nil
        return planned.reason
    }
}
