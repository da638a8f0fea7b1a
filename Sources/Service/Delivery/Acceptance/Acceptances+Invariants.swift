import DequeModule

// What holds for the acceptances between two events. Debug builds check it after each event.
extension Acceptances {
    /// The largest number of notifications for which each one is checked. Beyond it, tests with many notifications would
    /// take too long.
    private static let largestChecked = 64

    /// Always returns true, so that `assert` can call it.
    func checkInvariants() -> Bool {
        // Those of the batch do not count against the limit, and wait again if their mailboxes were locked.
        assert(
            waitingForStore.count <= limits.pendingStoresPerShard + limits.storesPerBatch,
            "Too many notifications wait for the store.")
        assert(storing.count <= limits.storesPerBatch, "The batch is too large.")
        guard orders.count + pendingStores <= Self.largestChecked else { return true }
        for acceptance in storing { assert(acceptance.isPending, "A finished notification is being stored.") }
        for acceptance in locked { assert(acceptance.isPending, "A finished notification is locked.") }
        for acceptance in waitingForStore { assert(acceptance.isPending, "A finished notification is to be stored.") }
        let destinations = Set(storing.map(\.submission.destination))
        assert(destinations.count == storing.count, "A batch has two notifications for one destination.")
        for order in orders.values {
            assert(!order.underWay.isEmpty, "An order without notifications is kept.")
            assert(order.underWay.checkInvariants())
            assert(order.storing?.isPending ?? true, "The order's newest notification is not being stored.")
            order.underWay.forEach { $0.checkInvariants() }
        }
        return true
    }
}

extension Acceptances.Acceptance {
    /// Whether this notification waits for the store or its answer.
    fileprivate var isPending: Bool {
        switch state {
        case .storing, .acknowledgedWhileStoring: true
        case .offered, .replaced, .over: false
        }
    }

    fileprivate func checkInvariants() {
        switch state {
        case .offered, .storing, .replaced: assert(!isAnswered, "A notification without an outcome is answered.")
        case .acknowledgedWhileStoring: break
        case .over: assertionFailure("A finished notification is under way.")
        }
        assert(replaced.allSatisfy { isNewer(than: $0.offer) }, "An older notification replaces a newer one.")
    }
}
