@testable import Delivery
import Notifications
import Rates
import Testing

/// How notifications are stored in mailboxes that keep more than one.
@Suite("Storing in mailboxes that keep more")
struct KeptAcceptanceTests {
    @Test
    func `No notification replaces another, and all are stored in the order of acceptance`() {
        var rig = AcceptancesRig(keeping: [1])
        #expect(rig.accept(.returned) == [.store([1])])
        #expect(rig.accept(.returned) == [])
        #expect(rig.accept(.returned) == [])
        #expect(rig.accept(.returned, app: 2) == [])
        #expect(rig.accept(.returned, app: 2) == [])
        // One after the other, because it may turn out that it is not known whether the first was stored.
        let steps = rig.stored([1])
        #expect(steps.last == .store([2, 5]))
        #expect(rig.stored([2, 5]).last == .store([3]))
        #expect(rig.stored([3]) == [.announce(3, version: 30, offer: 3), .accepted(3)])
        let isEmpty = rig.isEmpty
        #expect(isEmpty)
    }

    @Test
    func `What was accepted before is stored first, although it may still be acknowledged`() {
        var rig = AcceptancesRig(keeping: [1])
        #expect(rig.accept(.taken) == [])
        #expect(rig.accept(.held) == [.store([1])])
        #expect(rig.acknowledged(1) == [.accepted(1)])
        #expect(rig.stored([1]) == [.remove(app: 1, version: 10), .store([2])])
        #expect(rig.stored([2]) == [.announce(2, version: 20, offer: 2), .accepted(2)])
    }

    @Test
    func `One that comes back later than a newer one was stored is stored too`() {
        var rig = AcceptancesRig(keeping: [1])
        _ = rig.accept(.taken)
        _ = rig.accept(.taken)
        #expect(rig.returned(2) == [.store([1])])
        #expect(rig.stored([1]).last == .store([2]))
        _ = rig.stored([2])
        let isEmpty = rig.isEmpty
        #expect(isEmpty)
    }

    @Test
    func `One whose mailbox is locked is not overtaken`() {
        var rig = AcceptancesRig(keeping: [1])
        #expect(rig.accept(.returned) == [.store([1])])
        #expect(rig.accept(.returned) == [])
        #expect(rig.stored([1], locked: [1]) == [])
        #expect(rig.retryLocked() == [.store([1])])
        #expect(rig.stored([1]).last == .store([2]))
    }
}
