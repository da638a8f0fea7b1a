import Notifications

// What holds for a device line between two events. Debug builds check it after each event.
extension DeviceLine {
    /// The largest number of notifications for which each one is checked. Beyond it, tests with many notifications would
    /// take too long.
    private static let largestChecked = 64

    /// Always returns true, so that `assert` can call it.
    func checkInvariants() -> Bool {
        let isReading = if case .reading = phase { true } else { false }
        assert(underWay.count + held.count + deferred.count <= limit, "The line has more than it has room for.")
        assert(deferred.count <= deferredLimit, "Deferred notifications take the room of urgent ones.")
        assert(deferred.isEmpty || !policy.power.takesEverything, "Something is deferred although the device is awake.")
        assert(!holdsBroadcasts || !policy.power.takesEverything, "Broadcasts wait although the device is awake.")
        assert(held.isEmpty || isReading, "Offers are held although nothing is being read.")
        assert(underWay.lastNumber.map { $0 <= lastNumber } ?? true, "An attempt has a number of the future.")
        assert(underWay.checkInvariants())
        guard underWay.count + held.count + deferred.count + waiting.count <= Self.largestChecked else { return true }
        assert(isReading || !waiting.values.contains { $0.reason == .reading }, "Something waits for no reading.")
        let waitsForBurst =
            deferred.contains { $0.notification.urgency == .considerate }
            || waiting.values.contains { $0.reason == .policy(.burst) }
        assert(!waitsForBurst || policy.burstAt != nil, "Something waits for no burst.")
        let offersHeld = Set(held.compactMap(\.offer.id))
        assert(offersHeld.isSuperset(of: versionsOfHeld.keys), "A version belongs to no held offer.")
        var offers: [OfferID] = []
        underWay.forEach { if let offer = $0.offer { offers.append(offer) } }
        offers += deferred.compactMap(\.offer) + offersHeld
        assert(Set(offers).count == offers.count, "An offer is in two places.")
        return true
    }
}
