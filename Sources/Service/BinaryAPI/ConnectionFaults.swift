import Matching
import NIOCore

/// The faults that rehearsals have caused on a connection of the binary API.
struct ConnectionFaults {
    /// The faults that happen after a notification was accepted, by its ticket. The exchange limits their number.
    private var faults: [UInt64: RequestFault] = [:]
    /// The timer of a notification whose acceptance is delayed. Nothing is read meanwhile, so that the order is kept.
    private var timer: Scheduled<Void>?
    /// When the connection began to hang: since then it neither reads nor answers. Nil if it does not hang.
    private(set) var hangsSince: NIODeadline?

    /// Whether reading is paused.
    var isHolding: Bool { timer != nil || hangsSince != nil }

    mutating func set(_ fault: RequestFault, on ticket: UInt64) { faults[ticket] = fault }

    mutating func removeFault(of ticket: UInt64) -> RequestFault? { faults.removeValue(forKey: ticket) }

    mutating func hang(since now: NIODeadline) { hangsSince = hangsSince ?? now }

    mutating func wait(_ timer: Scheduled<Void>) { self.timer = timer }

    mutating func timerFired() { timer = nil }

    /// Ends the faults, because the connection has ended.
    mutating func end() {
        timer?.cancel()
        timer = nil
        hangsSince = nil
        faults = [:]
    }
}
