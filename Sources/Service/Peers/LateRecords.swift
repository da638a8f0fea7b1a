import Delivery
import Notifications

/// Which records of another node come too late to be used.
///
/// If a connection stalls, notifications for its devices go through the store. Records that are still on the connection may
/// then be older than what the store has delivered, or belong to a registration that has ended. So this node sends a barrier,
/// which the other node sends back. What arrives before the answer may have been sent before the barrier, and is refused.
///
/// Only one barrier is on its way. Refusals that are added meanwhile last until the next barrier has come back. So no
/// destination is handled more than twice, however many barriers are wanted while the connection stalls.
struct LateRecords {
    /// The number of the last barrier that was sent.
    private var last: UInt64 = 0
    private var isUnderWay = false
    /// The refusals that end when the last barrier has come back.
    private var refusals = Refusals()
    /// The refusals that end when the barrier after it has come back.
    private var laterRefusals = Refusals()

    /// The largest number of destinations to remember for one barrier. If there are more, everything is refused until the
    /// barrier comes back.
    static let maximumDestinations = 16_384

    private struct Refusals {
        /// The destinations, each with whether its registration has ended, so that what was stored before does not count either.
        var destinations: [Destination: Bool] = [:]
        var isForAll = false

        var isEmpty: Bool { !isForAll && destinations.isEmpty }

        mutating func insert(_ added: [Destination]?, isEnded: Bool) {
            guard !isForAll else { return }
            guard let added, destinations.count + added.count <= LateRecords.maximumDestinations else {
                isForAll = true
                destinations = [:]
                return
            }
            // A subscription of Web Push ends with its app, and what is announced for it names the app.
            for app in added.lazy.map(\.ofApp) { destinations[app] = isEnded || destinations[app] ?? false }
        }

        func contains(_ destination: Destination) -> Bool {
            isForAll || !destinations.isEmpty && destinations[destination.ofApp] != nil
        }

        func mayHaveEnded(_ destination: Destination) -> Bool {
            isForAll || !destinations.isEmpty && destinations[destination.ofApp] == true
        }
    }

    /// Refuses what was sent earlier for these destinations.
    /// - Parameters:
    ///   - destinations: nil for all.
    ///   - isEnded: whether the registrations have ended.
    /// - Returns: The number of the barrier that has to be sent; nil if one is on its way. The next one then follows it.
    mutating func refuse(_ destinations: [Destination]?, isEnded: Bool) -> UInt64? {
        guard !isUnderWay else {
            laterRefusals.insert(destinations, isEnded: isEnded)
            return nil
        }
        refusals.insert(destinations, isEnded: isEnded)
        return nextBarrier()
    }

    /// Handles a barrier that came back.
    /// - Returns: The number of the barrier that has to be sent; nil if none has to.
    mutating func barrierPassed(_ barrier: UInt64) -> UInt64? {
        // Another number is a defect of the other node. Ignore it.
        guard isUnderWay, barrier == last else { return nil }
        isUnderWay = false
        refusals = laterRefusals
        laterRefusals = Refusals()
        return nextBarrier()
    }

    private mutating func nextBarrier() -> UInt64? {
        guard !refusals.isEmpty else { return nil }
        last += 1
        isUnderWay = true
        return last
    }

    /// Whether an offer for the destination has to be refused.
    func refusesOffer(for destination: Destination) -> Bool {
        refusals.contains(destination) || laterRefusals.contains(destination)
    }

    /// Whether the registration may have ended after the other node has sent what arrives now. News of a stored notification is
    /// then ignored: the announcement in the store brings it.
    func mayHaveEnded(_ destination: Destination) -> Bool {
        refusals.mayHaveEnded(destination) || laterRefusals.mayHaveEnded(destination)
    }
}
