import Delivery
import Notifications

/// Which records of another node come too late to be used.
///
/// If a connection stalls, notifications for its devices go through the store. Records that are still on the connection may
/// then be older than what the store has delivered, or belong to a registration that has ended. So this node sends a barrier,
/// which the other node sends back. What arrives before the answer may have been sent before the barrier, and is refused.
struct LateRecords {
    /// The number of the last barrier that was sent.
    private var last: UInt64 = 0
    private var refused: [Destination: Refusal] = [:]
    /// The barrier until which everything is refused.
    private var all: UInt64 = 0
    /// The newest barrier that came back.
    private var passed: UInt64 = 0

    /// The largest number of destinations to remember. If there are more, everything is refused until the barrier
    /// comes back.
    static let maximumDestinations = 16_384

    private struct Refusal {
        var barrier: UInt64
        /// Whether the registration has ended, so that what was stored before does not count either.
        var isEnded: Bool
    }

    /// Refuses what was sent earlier for these destinations.
    /// - Parameters:
    ///   - destinations: nil for all.
    ///   - isEnded: whether the registrations have ended.
    /// - Returns: The number of the barrier that has to be sent.
    mutating func refuse(_ destinations: [Destination]?, isEnded: Bool) -> UInt64 {
        last += 1
        guard let destinations, refused.count + destinations.count <= Self.maximumDestinations else {
            all = last
            return last
        }
        for destination in destinations {
            let wasEnded = refused[destination]?.isEnded ?? false
            refused[destination] = Refusal(barrier: last, isEnded: isEnded || wasEnded)
        }
        return last
    }

    /// Handles a barrier that came back.
    mutating func passed(_ barrier: UInt64) {
        // A number that was not sent is a defect of the other node. Ignore it.
        guard barrier <= last, barrier > passed else { return }
        passed = barrier
        refused = refused.filter { $0.value.barrier > barrier }
    }

    /// Whether an offer for the destination has to be refused.
    func refusesOffer(for destination: Destination) -> Bool {
        all > passed || !refused.isEmpty && refused[destination] != nil
    }

    /// Whether the news of a stored notification has to be ignored. The announcement in the store brings it.
    func ignoresStored(for destination: Destination) -> Bool {
        all > passed || !refused.isEmpty && refused[destination]?.isEnded == true
    }
}
