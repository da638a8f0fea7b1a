import Delivery
import Notifications
import Testing

@testable import Peers

@Suite("Records that come too late")
struct LateRecordsTests {
    private func destination(_ app: UInt32) -> Destination {
        Destination(environment: .production, device: DeviceID(rawValue: 1), app: AppID(rawValue: app))
    }

    private func refused(_ late: LateRecords) -> [Bool] { (1...3).map { late.refusesOffer(for: destination($0)) } }

    private func ended(_ late: LateRecords) -> [Bool] { (1...3).map { late.mayHaveEnded(destination($0)) } }

    @Test
    func `Offers are refused until a barrier has come back that was sent after the refusal`() {
        var late = LateRecords()
        #expect(late.refuse([destination(1), destination(2)], isEnded: false) == 1)
        // The next barrier goes when the first has come back.
        #expect(late.refuse([destination(2)], isEnded: true) == nil)
        #expect(refused(late) == [true, true, false] && ended(late) == [false, true, false])
        // A registration that has ended stays so, even if something is stored for the next one meanwhile.
        #expect(late.refuse([destination(2), destination(3)], isEnded: false) == nil)
        #expect(refused(late) == [true, true, true] && ended(late) == [false, true, false])
        #expect(late.barrierPassed(1) == 2)
        #expect(refused(late) == [false, true, true] && ended(late) == [false, true, false])
        #expect(late.refuse([destination(1)], isEnded: false) == nil)
        #expect(late.barrierPassed(2) == 3)
        #expect(refused(late) == [true, false, false] && ended(late) == [false, false, false])
        #expect(late.barrierPassed(3) == nil)
        #expect(refused(late) == [false, false, false])
        #expect(late.refuse([destination(3)], isEnded: true) == 4)
        #expect(refused(late) == [false, false, true] && ended(late) == [false, false, true])
    }

    @Test
    func `A barrier that was not sent, or came back before, changes nothing`() {
        var late = LateRecords()
        #expect(late.barrierPassed(5) == nil)
        #expect(late.barrierPassed(0) == nil)
        #expect(late.refuse([destination(1)], isEnded: false) == 1)
        #expect(late.refuse([destination(2)], isEnded: false) == nil)
        for number in [.max, 0, 2] as [UInt64] { #expect(late.barrierPassed(number) == nil) }
        #expect(refused(late) == [true, true, false])
        #expect(late.barrierPassed(1) == 2)
        #expect(late.barrierPassed(1) == nil)
        #expect(refused(late) == [false, true, false])
    }

    @Test
    func `With too many destinations, everything is refused until the barrier comes back`() {
        var late = LateRecords()
        let many = (1...UInt32(LateRecords.maximumDestinations)).map { destination($0 + 1) }
        #expect(late.refuse([destination(1)], isEnded: false) == 1)
        #expect(late.refuse(many, isEnded: false) == nil)
        #expect(!late.refusesOffer(for: destination(.max)))
        #expect(late.refuse([destination(1)], isEnded: false) == nil)
        #expect(late.refusesOffer(for: destination(.max)) && late.mayHaveEnded(destination(.max)))
        #expect(late.barrierPassed(1) == 2)
        #expect(late.refusesOffer(for: destination(.max)) && late.mayHaveEnded(destination(.max)))
        #expect(late.barrierPassed(2) == nil)
        #expect(!late.refusesOffer(for: destination(2)) && !late.mayHaveEnded(destination(2)))
        #expect(late.refuse(nil, isEnded: false) == 3)
        #expect(late.refusesOffer(for: destination(1)))
        #expect(late.barrierPassed(3) == nil)
        #expect(!late.refusesOffer(for: destination(1)))
    }

    @Test
    func `However often something is refused while a connection stalls, one barrier waits for its answer`() {
        var late = LateRecords()
        let barriers = (0..<100_000).compactMap { late.refuse([destination($0)], isEnded: $0 % 2 == 0) }
        #expect(barriers == [1])
        #expect(late.barrierPassed(1) == 2)
        #expect(late.barrierPassed(2) == nil)
        #expect(!late.refusesOffer(for: destination(1)))
    }
}
