import Delivery
import Notifications
import Testing

@testable import Peers

@Suite("Records that come too late")
struct LateRecordsTests {
    private func destination(_ app: UInt32) -> Destination {
        Destination(environment: .production, device: DeviceID(rawValue: 1), app: AppID(rawValue: app))
    }

    @Test
    func `Offers are refused until the newest barrier of their destination has come back`() {
        var late = LateRecords()
        let first = late.refuse([destination(1), destination(2)], isEnded: false)
        let second = late.refuse([destination(2)], isEnded: true)
        let isRefused = { (late: LateRecords) in (1...3).map { late.refusesOffer(for: destination($0)) } }
        let isIgnored = { (late: LateRecords) in (1...3).map { late.ignoresStored(for: destination($0)) } }
        #expect(isRefused(late) == [true, true, false] && isIgnored(late) == [false, true, false])
        late.passed(first)
        #expect(isRefused(late) == [false, true, false])
        // A registration that has ended stays so, even if something is stored for the next one meanwhile.
        let third = late.refuse([destination(2)], isEnded: false)
        late.passed(second)
        #expect(isRefused(late) == [false, true, false] && isIgnored(late) == [false, true, false])
        late.passed(third)
        #expect(isRefused(late) == [false, false, false] && isIgnored(late) == [false, false, false])
    }

    @Test
    func `A barrier that was not sent, or came back before, changes nothing`() {
        var late = LateRecords()
        late.passed(5)
        let first = late.refuse([destination(1)], isEnded: false)
        late.passed(.max)
        late.passed(0)
        #expect(late.refusesOffer(for: destination(1)))
        late.passed(first)
        late.passed(first)
        #expect(!late.refusesOffer(for: destination(1)))
    }

    @Test
    func `With too many destinations, everything is refused until the barrier comes back`() {
        var late = LateRecords()
        let few = late.refuse([destination(1)], isEnded: false)
        let many = (1...UInt32(LateRecords.maximumDestinations)).map { destination($0 + 1) }
        let barrier = late.refuse(many, isEnded: false)
        late.passed(few)
        #expect(late.refusesOffer(for: destination(.max)) && late.ignoresStored(for: destination(.max)))
        late.passed(barrier)
        #expect(!late.refusesOffer(for: destination(2)) && !late.ignoresStored(for: destination(2)))
        let all = late.refuse(nil, isEnded: false)
        #expect(late.refusesOffer(for: destination(1)))
        late.passed(all)
        #expect(!late.refusesOffer(for: destination(1)))
    }
}
