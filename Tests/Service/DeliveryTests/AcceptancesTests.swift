@testable import Delivery
import Notifications
import CommonTesting
import Testing

/// The actions after each event between a provider's request and its answer.
@Suite("Acceptances")
struct AcceptancesTests {
    // MARK: A device that is connected

    @Test
    func `After an offer was taken, the answer waits for the acknowledgement`() {
        var rig = AcceptancesRig()
        #expect(rig.accept(.taken) == [])
        #expect(rig.acknowledged(1) == [.accepted(1)])
        let isEmpty = rig.isEmpty
        #expect(isEmpty)
    }

    @Test
    func `A second acknowledgement, or that of an unknown offer, is ignored`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.taken)
        #expect(rig.acknowledged(2) == [])
        _ = rig.acknowledged(1)
        #expect(rig.acknowledged(1) == [])
        #expect(rig.returned(1) == [])
    }

    @Test
    func `Outcomes of another origin's offer with the same number are ignored`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.taken)
        let other = OfferID(origin: OfferOrigin(rawValue: 2), number: 1)
        let acknowledged = rig.acceptances.acknowledged(other, of: Example.destination())
        let returned = rig.acceptances.returned(other, of: Example.destination())
        #expect(acknowledged.isEmpty && returned.isEmpty)
        #expect(rig.acknowledged(1) == [.accepted(1)])
    }

    @Test
    func `The parts of a process never use the same identifier for two offers`() {
        let origin = OfferOrigin(rawValue: 1)
        var seen: Set<OfferID> = []
        for part in 0..<16 {
            var names = OfferNames(origin: origin, part: part, of: 16)
            for _ in 0..<100 { seen.insert(names.next()) }
        }
        #expect(seen.count == 1600)
    }

    @Test
    func `An unacknowledged notification is not stored before its deadline`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.taken)
        rig.now = rig.now.advanced(by: rig.limits.acknowledgementGrace - .milliseconds(1))
        #expect(rig.tick() == [])
    }

    @Test
    func `At its deadline a notification is stored, announced with its offer, and answered`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.taken)
        #expect(rig.deadline() == [.store([1])])
        #expect(rig.stored([1]) == [.announce(1, version: 10, offer: 1), .accepted(1)])
        // The line knows the version now, and removes it when the device acknowledges.
        #expect(rig.acknowledged(1) == [])
    }

    @Test
    func `An answered notification is not kept until its deadline`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.taken)
        var answers: NoAnswers? = NoAnswers()
        let isHeld = { [weak answers] in answers != nil }
        if let answers { _ = rig.accept(.taken, answers: answers) }
        answers = nil
        #expect(isHeld())
        _ = rig.acknowledged(2)
        #expect(!isHeld())
        let isWaiting = rig.isWaiting
        #expect(isWaiting)
    }

    @Test
    func `The next deadline is that of the first unacknowledged notification`() {
        var rig = AcceptancesRig()
        #expect(rig.nextDeadline() == nil)
        let grace = rig.limits.acknowledgementGrace
        _ = rig.accept(.taken)
        let first = Example.now(rig.now).uptime
        rig.now = rig.now.advanced(by: .milliseconds(1))
        _ = rig.accept(.taken)
        #expect(rig.nextDeadline() == first.advanced(by: grace))
        _ = rig.acknowledged(1)
        #expect(rig.nextDeadline() == first.advanced(by: .milliseconds(1)).advanced(by: grace))
        _ = rig.acknowledged(2)
        #expect(rig.nextDeadline() == nil)
    }

    @Test
    func `Each deadline is reported once`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.taken)
        _ = rig.deadline()
        #expect(rig.deadline() == [])
    }

    @Test
    func `A notification that was acknowledged before its deadline is not stored`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.taken)
        _ = rig.acknowledged(1)
        #expect(rig.deadline() == [])
        let isWaiting = rig.isWaiting
        #expect(!isWaiting)
    }

    @Test
    func `A timer is needed only while a deadline is in the future`() {
        var rig = AcceptancesRig()
        var waiting = rig.isWaiting
        #expect(!waiting)
        _ = rig.accept(.taken)
        waiting = rig.isWaiting
        #expect(waiting)
        _ = rig.deadline()
        waiting = rig.isWaiting
        #expect(!waiting)
    }

    // MARK: A device that is not

    @Test
    func `A notification that no device takes is stored at once, announced, and answered`() {
        var rig = AcceptancesRig()
        #expect(rig.accept(.returned) == [.store([1])])
        #expect(rig.stored([1]) == [.announce(1, version: 10, offer: 1), .accepted(1)])
        let isEmpty = rig.isEmpty
        #expect(isEmpty)
    }

    @Test
    func `A notification that is returned from a device is stored`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.taken)
        #expect(rig.returned(1) == [.store([1])])
        #expect(rig.stored([1]) == [.announce(1, version: 10, offer: 1), .accepted(1)])
    }

    @Test
    func `A notification that is returned while it is being stored is announced with its offer`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.taken)
        _ = rig.deadline()
        #expect(rig.returned(1) == [])
        #expect(rig.stored([1]) == [.announce(1, version: 10, offer: 1), .accepted(1)])
    }

    @Test
    func `The device is told before the provider`() {
        // A notification that the provider sends after the answer comes later on the device's stream.
        var rig = AcceptancesRig()
        _ = rig.accept(.returned)
        #expect(rig.stored([1]).first == .announce(1, version: 10, offer: 1))
    }

    // MARK: Acknowledged while it is being stored

    @Test
    func `A notification that is acknowledged before its batch is stored is answered at once and not stored`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.returned, app: 2)
        _ = rig.accept(.taken)
        #expect(rig.deadline() == [])  // The store is busy with the first.
        #expect(rig.acknowledged(2) == [.accepted(2)])
        #expect(rig.stored([1]) == [.announce(1, version: 10, offer: 1), .accepted(1)])
        let isEmpty = rig.isEmpty
        #expect(isEmpty)
    }

    @Test
    func `A notification that is acknowledged while its batch is stored is answered at once and removed afterwards`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.taken)
        #expect(rig.deadline() == [.store([1])])
        #expect(rig.acknowledged(1) == [.accepted(1)])
        #expect(rig.stored([1]) == [.remove(app: 1, version: 10)])
        let isEmpty = rig.isEmpty
        #expect(isEmpty)
    }

    @Test
    func `If other nodes store too, what is acknowledged meanwhile is answered after the store has answered`() {
        for failing in [[], [1]] as [Set<UInt64>] {
            var rig = AcceptancesRig(isShared: true)
            #expect(rig.accept(.returned) == [.store([1])])
            #expect(rig.acknowledged(1) == [])
            let removal: [AcceptancesRig.Step] = failing.isEmpty ? [.remove(app: 1, version: 10)] : []
            #expect(rig.stored([1], failing: failing) == [.accepted(1)] + removal)
        }
    }

    @Test
    func `A notification that is acknowledged while it is being stored does not come back`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.taken)
        _ = rig.deadline()
        _ = rig.acknowledged(1)
        #expect(rig.returned(1) == [])
        #expect(rig.stored([1]) == [.remove(app: 1, version: 10)])
    }

    // MARK: Older and newer

    @Test
    func `An older notification that is returned after a newer one was stored is answered with it, and not stored`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.taken)
        #expect(rig.accept(.returned) == [.store([2])])
        #expect(rig.stored([2]) == [.announce(2, version: 20, offer: 2), .accepted(2)])
        #expect(rig.returned(1) == [.accepted(1)])
        let isEmpty = rig.isEmpty
        #expect(isEmpty)
    }

    @Test
    func `An older notification that is returned while a newer one is being stored is answered with it`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.taken)
        _ = rig.accept(.returned)
        #expect(rig.returned(1) == [])
        let steps = rig.stored([2])
        #expect(Set(steps) == [.announce(2, version: 20, offer: 2), .accepted(1), .accepted(2)])
        #expect(steps.count == 3)
    }

    @Test
    func `An older notification that waits for a newer one is answered when the device acknowledges it`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.taken)
        _ = rig.accept(.returned)
        #expect(rig.deadline() == [])  // The older one's deadline: it waits for the newer one.
        #expect(rig.acknowledged(1) == [.accepted(1)])
        #expect(rig.stored([2]) == [.announce(2, version: 20, offer: 2), .accepted(2)])
    }

    @Test
    func `An older notification is answered with a newer one that was acknowledged while it was being stored`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.taken)
        _ = rig.accept(.taken)
        #expect(rig.returned(2) == [.store([2])])
        _ = rig.returned(1)
        #expect(rig.acknowledged(2) == [.accepted(2)])
        #expect(rig.stored([2]) == [.accepted(1), .remove(app: 1, version: 20)])
    }

    @Test
    func `An older notification is not answered with a newer one that could not be stored`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.taken)
        _ = rig.accept(.returned)
        _ = rig.returned(1)
        #expect(Set(rig.stored([2], failing: [2])) == [.unavailable(1), .unavailable(2)])
    }

    @Test
    func `An older notification that is returned after storing a newer one failed is stored`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.taken)
        _ = rig.accept(.returned)
        _ = rig.stored([2], failing: [2])
        #expect(rig.returned(1) == [.store([1])])
    }

    @Test
    func `A newer notification is stored, whatever happens to the older one`() {
        var rig = AcceptancesRig()
        #expect(rig.accept(.returned) == [.store([1])])
        #expect(rig.accept(.returned) == [])
        #expect(rig.stored([1]) == [.announce(1, version: 10, offer: 1), .accepted(1), .store([2])])
        #expect(rig.stored([2]) == [.announce(2, version: 20, offer: 2), .accepted(2)])
    }

    @Test
    func `Notifications to other apps are not affected`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.taken, app: 1)
        _ = rig.accept(.returned, app: 2)
        #expect(rig.returned(1) == [])  // It waits for the store, but not for the other notification.
        #expect(rig.stored([2]) == [.announce(2, version: 20, offer: 2), .accepted(2), .store([1])])
    }

    // MARK: Draining

    @Test
    func `A drain stores unacknowledged notifications at once`() {
        var rig = AcceptancesRig()
        _ = rig.accept(.taken, app: 1)
        _ = rig.accept(.taken, app: 2)
        #expect(rig.drain() == [.store([1, 2])])
        #expect(rig.drain() == [])
        #expect(Set(rig.stored([1, 2])).isSuperset(of: [.accepted(1), .accepted(2)]))
        let isEmpty = rig.isEmpty
        #expect(isEmpty)
    }

    @Test(arguments: 1...50 as ClosedRange<UInt64>)
    func `Every submission is answered exactly once, whatever happens`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var limits = DeliveryLimits()
        limits.pendingStoresPerShard = 3
        limits.storesPerBatch = Int(seed % 3) + 1
        var rig = AcceptancesRig(limits)
        var batches: [[UInt64]] = []
        var answered: [UInt64: Int] = [:]
        var count: UInt64 = 0
        func record(_ steps: [AcceptancesRig.Step]) {
            for step in steps {
                switch step {
                case .accepted(let number), .unavailable(let number): answered[number, default: 0] += 1
                case .store(let numbers): batches.append(numbers)
                case .announce, .remove: break
                case .other: Issue.record("seed \(seed): an action nobody expects")
                }
            }
            #expect(batches.count <= 1, "seed \(seed)")
        }
        for _ in 0..<300 {
            let number = UInt64.random(in: 1...max(1, count), using: &generator)
            switch Int.random(in: 0..<7, using: &generator) {
            case 0, 1:
                count += 1
                record(
                    rig.accept(
                        Bool.random(using: &generator) ? .taken : .returned, app: .random(in: 1...2, using: &generator))
                )
            case 2: record(rig.acknowledged(number))
            case 3: record(rig.returned(number))
            case 4: record(rig.deadline())
            default:
                guard !batches.isEmpty else { continue }
                let batch = batches.removeFirst()
                let failing = Set(batch.filter { _ in Int.random(in: 0..<4, using: &generator) == 0 })
                record(rig.stored(batch, failing: failing))
            }
        }
        record(rig.drain())
        while !batches.isEmpty { record(rig.stored(batches.removeFirst())) }
        let isEmpty = rig.isEmpty
        #expect(isEmpty, "seed \(seed)")
        #expect(answered == Dictionary(uniqueKeysWithValues: (1...count).map { ($0, 1) }), "seed \(seed)")
    }
}
