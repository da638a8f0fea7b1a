import Synchronization

/// Says whether this node may still use the streams of its devices. If the node was stopped or cut off for longer than its
/// lease, other nodes may have taken its devices. From that moment its old streams neither send nor acknowledge, even
/// before anything has ended them.
package final class HoldFence: Sendable {
    private let holds: any DeviceHolds
    /// The term in which the node has taken its devices.
    private let term: Atomic<UInt64>

    package init(_ holds: any DeviceHolds) {
        self.holds = holds
        term = Atomic(holds.holdTerm)
    }

    /// Whether the lease has not run out since ``begin(_:)``.
    package var isOpen: Bool { openTerm != nil }

    /// The term that has begun last, also if its lease has run out since.
    package var begunTerm: UInt64 { term.load(ordering: .acquiring) }

    /// The term that has begun last; nil if its lease has run out since.
    package var openTerm: UInt64? {
        let begun = begunTerm
        return holds.holdTerm == begun ? begun : nil
    }

    /// The term that has to begin; nil if it is still the same.
    var newTerm: UInt64? {
        let present = holds.holdTerm
        return present == term.load(ordering: .acquiring) ? nil : present
    }

    /// Begins a new term. All streams of earlier terms must have ended.
    func begin(_ term: UInt64) { self.term.store(term, ordering: .releasing) }
}
