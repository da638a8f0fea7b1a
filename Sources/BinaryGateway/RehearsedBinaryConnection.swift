import Matching
import NIOCore

/// What rehearsals have done to a connection of the binary API. It ends with the connection.
struct RehearsedBinaryConnection {
    /// What goes wrong once a notification is accepted, by its ticket. The exchange bounds how many there are.
    private var faults: [UInt64: RequestFault] = [:]
    /// A notification that is taken late. Nothing is read meanwhile, so nothing overtakes it.
    private var timer: Scheduled<Void>?
    /// Since when nothing is read and nothing answered.
    private(set) var hangsSince: NIODeadline?

    /// Whether nothing more is read for now.
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
