import Matching
import NIOCore

/// The faults that rehearsals have caused on a connection of the binary API.
struct RehearsedBinaryConnection {
    /// The faults that happen after a notification is accepted, by its ticket. The exchange limits their number.
    private var faults: [UInt64: RequestFault] = [:]
    /// A notification that is accepted late. Nothing is read meanwhile, so the order stays.
    private var timer: Scheduled<Void>?
    /// The time since when the connection hangs: it neither reads nor answers.
    private(set) var hangsSince: NIODeadline?

    /// Whether reading is paused.
    var isHolding: Bool { timer != nil || hangsSince != nil }

    mutating func set(_ fault: RequestFault, on ticket: UInt64) { faults[ticket] = fault }

    mutating func takeFault(of ticket: UInt64) -> RequestFault? { faults.removeValue(forKey: ticket) }

    mutating func hang(since now: NIODeadline) { hangsSince = hangsSince ?? now }

    mutating func wait(_ timer: Scheduled<Void>) { self.timer = timer }

    mutating func timerFired() { timer = nil }

    /// The connection ends.
    mutating func end() {
        timer?.cancel()
        timer = nil
        hangsSince = nil
        faults = [:]
    }
}
