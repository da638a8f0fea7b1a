import Delivery
import Notifications
import Testing

/// Which notifications are stored together, and what happens after the store's answers.
@Suite("Acceptances and the store")
struct AcceptancesStoreTests {
    @Test
    func `If the store fails, the answer is ServiceUnavailable`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.returned)
        #expect(rig.stored([1], failing: [1]) == [.unavailable(1)])
        let isEmpty = rig.isEmpty
        #expect(isEmpty)
    }

    @Test
    func `A failure of the store does not affect what was acknowledged meanwhile`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.taken)
        _ = rig.deadline()
        #expect(rig.acknowledged(1) == [.accepted(1)])
        #expect(rig.stored([1], failing: [1]) == [])
        let isEmpty = rig.isEmpty
        #expect(isEmpty)
    }

    @Test
    func `Each item of a batch has its own outcome`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.returned, app: 9)
        for app in 1...3 as ClosedRange<UInt32> { _ = rig.accept(.returned, app: app) }
        _ = rig.stored([1])
        #expect(
            rig.stored([2, 3, 4], failing: [3]) == [
                .announce(2, version: 20, offer: 2), .accepted(2), .unavailable(3),
                .announce(4, version: 40, offer: 4), .accepted(4),
            ])
    }

    @Test
    func `One batch is stored at a time; the next has everything that came meanwhile, in order`() {
        var rig = AcceptancesRig()
        #expect(rig.accept(.returned, app: 1) == [.store([1])])
        for app in [2, 1, 2, 3] as [UInt32] { #expect(rig.accept(.returned, app: app) == []) }
        #expect(rig.stored([1]).last == .store([3, 4, 5]))
        #expect(rig.accept(.returned, app: 1) == [])
        #expect(rig.stored([3, 4, 5]).last == .store([6]))
    }

    @Test
    func `What does not fit into a batch goes into the next, with its own answers`() {
        var limits = DeliveryLimits()
        limits.storesPerBatch = 2
        var rig = AcceptancesRig(limits)
        #expect(rig.accept(.returned, app: 1) == [.store([1])])
        for app in 2...4 as ClosedRange<UInt32> { #expect(rig.accept(.returned, app: app) == []) }
        #expect(rig.accept(.returned, app: 2) == [])
        #expect(rig.stored([1]).last == .store([3, 4]))
        #expect(rig.stored([3, 4]).last == .store([5]))
        #expect(Set(rig.stored([5])).isSuperset(of: [.accepted(2), .accepted(5)]))
        let isEmpty = rig.isEmpty
        #expect(isEmpty)
    }

    @Test
    func `What was acknowledged meanwhile takes no room in a batch`() {
        var limits = DeliveryLimits()
        limits.storesPerBatch = 1
        var rig = AcceptancesRig(limits)
        _ = rig.accept(.returned, app: 1)
        for app in 2...3 as ClosedRange<UInt32> { _ = rig.accept(.taken, app: app) }
        _ = rig.deadline()
        for number in 2...3 as ClosedRange<UInt64> { _ = rig.acknowledged(number) }
        _ = rig.accept(.returned, app: 4)
        #expect(rig.stored([1]).last == .store([4]))
    }

    @Test
    func `If several notifications for one destination wait, only the newest is stored, and its result answers all`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.returned, app: 9)
        for _ in 0..<3 { _ = rig.accept(.returned) }
        #expect(rig.stored([1]).last == .store([4]))
        let steps = rig.stored([4])
        #expect(steps.first == .announce(4, version: 40, offer: 4))
        #expect(Set(steps.dropFirst()) == [.accepted(2), .accepted(3), .accepted(4)])
        let isEmpty = rig.isEmpty
        #expect(isEmpty)
    }

    @Test
    func `If the newest of several cannot be stored, all get this answer, except those that a device acknowledged`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.returned, app: 9)
        for _ in 0..<3 { _ = rig.accept(.taken) }
        _ = rig.deadline()
        #expect(rig.stored([1]).last == .store([4]))
        #expect(rig.acknowledged(2) == [.accepted(2)])
        #expect(Set(rig.stored([4], failing: [4])) == [.unavailable(3), .unavailable(4)])
    }

    @Test
    func
        `While a notification that is on no stream is being stored, later ones for its destination have to wait for it`()
    {
        var rig = AcceptancesRig()
        #expect(rig.mustFollow() == false)
        _ = rig.accept(.taken)
        #expect(rig.mustFollow() == false)
        _ = rig.deadline()  // It goes to the mailbox, and is also on a stream.
        #expect(rig.mustFollow() == false)
        _ = rig.returned(1)
        #expect(rig.mustFollow() == true)
        #expect(rig.mustFollow(app: 2) == false)
        _ = rig.stored([1])
        #expect(rig.mustFollow() == false)
    }

    @Test
    func `A batch of which nothing is left to store does not delay the next`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.returned, app: 1)
        _ = rig.accept(.taken, app: 2)
        _ = rig.deadline()
        _ = rig.acknowledged(2)
        _ = rig.stored([1])
        #expect(rig.accept(.returned, app: 3) == [.store([3])])
    }

    @Test
    func `If too many wait for the store, the answer is ServiceUnavailable`() {
        var limits = DeliveryLimits()
        limits.pendingStoresPerShard = 2
        var rig = AcceptancesRig(limits)
        #expect(rig.accept(.returned, app: 1) == [.store([1])])
        #expect(rig.accept(.returned, app: 2) == [])
        #expect(rig.accept(.returned, app: 3) == [])
        #expect(rig.accept(.returned, app: 4) == [.unavailable(4)])
        #expect(rig.stored([1]).last == .store([2, 3]))
        #expect(rig.accept(.returned, app: 5) == [])
    }

    // MARK: Mailboxes that another transaction holds

    @Test
    func `A locked mailbox delays no other notification, and is stored when it is free`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.returned, app: 9)
        for app in 1...2 as ClosedRange<UInt32> { _ = rig.accept(.returned, app: app) }
        _ = rig.stored([1])
        #expect(rig.stored([2, 3], locked: [2]) == [.announce(3, version: 30, offer: 3), .accepted(3)])
        #expect(rig.accept(.returned, app: 4) == [.store([4])])
        #expect(rig.retryLocked() == [])
        #expect(rig.stored([4]).last == .store([2]))
        #expect(rig.stored([2]) == [.announce(2, version: 20, offer: 2), .accepted(2)])
        let isEmpty = rig.isEmpty
        #expect(isEmpty)
    }

    /// - Parameter isStored: whether the newer one was stored before the older one is stored again.
    @Test(arguments: [false, true])
    func `A notification whose mailbox was locked never replaces a newer one`(isStored: Bool) {
        var rig = AcceptancesRig()
        _ = rig.accept(.returned)
        #expect(rig.stored([1], locked: [1]) == [])
        #expect(rig.accept(.returned) == [.store([2])])
        if !isStored { #expect(rig.retryLocked() == []) }
        let steps = rig.stored([2])
        #expect(steps.contains(.accepted(2)))
        let rest = isStored ? rig.retryLocked() : []
        #expect((steps + rest).contains(.accepted(1)))
        #expect(!(steps + rest).contains(.store([1])))
        let isEmpty = rig.isEmpty
        #expect(isEmpty)
    }

    @Test
    func `A locked one is stored again although so many wait that new ones are refused`() {
        var limits = DeliveryLimits()
        limits.pendingStoresPerShard = 2
        limits.storesPerBatch = 1
        var rig = AcceptancesRig(limits)
        for app in 1...3 as ClosedRange<UInt32> { _ = rig.accept(.returned, app: app) }
        #expect(rig.stored([1], locked: [1]) == [.store([2])])
        #expect(rig.accept(.returned, app: 4) == [.unavailable(4)])
        #expect(rig.stored([2], locked: [2]) == [.store([3])])
        #expect(rig.stored([3], locked: [3]) == [])
        #expect(rig.retryLocked() == [.store([1])])
        #expect(rig.stored([1]).last == .store([2]))
        #expect(rig.stored([2]).last == .store([3]))
    }

    @Test
    func `A mailbox that stays locked gives ServiceUnavailable in the end, unless the device acknowledged`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.returned, app: 1)
        _ = rig.stored([1], locked: [1])
        _ = rig.retryLocked()
        rig.now = rig.now.advanced(by: rig.limits.maximumLockWait)
        #expect(rig.stored([1], locked: [1]) == [.unavailable(1)])
        _ = rig.accept(.held, app: 2)
        _ = rig.stored([2], locked: [2])
        #expect(rig.acknowledged(2) == [.accepted(2)])
        #expect(rig.retryLocked() == [])
        let isEmpty = rig.isEmpty
        #expect(isEmpty)
    }

    // MARK: Late notifications

    /// - Parameter isShared: whether other nodes use the same store.
    @Test(arguments: [false, true])
    func `What is passed late to a store that others use has its age`(isShared: Bool) {
        var rig = AcceptancesRig(isShared: isShared)
        #expect(rig.accept(.returned) == [.store([1])])
        #expect(rig.ages == [nil])
        #expect(rig.waits == [isShared ? .zero : nil])
        _ = rig.stored([1])
        // The process is stopped while the notification is under way to the device.
        #expect(rig.accept(.taken) == [])
        let stop = Duration.seconds(3)
        rig.now = rig.now.advanced(by: stop)
        #expect(rig.tick() == [.store([2])])
        #expect(rig.ages == [isShared ? stop : nil])
        #expect(rig.waits == [isShared ? stop : nil])
        // What is certainly not stored is stored for the first time, with all the time that it has waited.
        _ = rig.stored([2], locked: [2])
        rig.now = rig.now.advanced(by: .seconds(1))
        #expect(rig.retryLocked() == [.store([2])])
        #expect(rig.waits == [isShared ? .seconds(4) : nil])
    }

    @Test
    func `Notifications that wait for a newer one take no room in the store's queue`() {
        var limits = DeliveryLimits()
        limits.pendingStoresPerShard = 1
        var rig = AcceptancesRig(limits)
        _ = rig.accept(.taken)
        _ = rig.accept(.returned)
        _ = rig.accept(.returned, app: 2)
        #expect(rig.returned(1) == [])
        #expect(Set(rig.stored([2])).isSuperset(of: [.accepted(1), .accepted(2)]))
    }
}
