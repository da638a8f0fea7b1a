import Delivery
import Notifications
import Testing

@Suite("Where devices are")
struct DeviceWhereaboutsTests {
    private func device(_ number: UInt64) -> DeviceKey {
        DeviceKey(environment: .production, device: DeviceID(rawValue: number))
    }

    private func place(_ node: UInt8, _ epoch: UInt64) -> DeviceWhereabouts.Place {
        DeviceWhereabouts.Place(node: NodeID(bytes: [node]), epoch: epoch)
    }

    @Test
    func `The newest place is known until it is forgotten`() {
        let places = DeviceWhereabouts()
        #expect(places[device(1)] == nil)
        places.record(device(1), place(1, 1))
        places.record(device(1), place(2, 2))
        #expect(places[device(1)] == place(2, 2) && places[device(2)] == nil)
        places.forget(device(1), epoch: 1)
        #expect(places[device(1)] == place(2, 2))
        places.forget(device(1), epoch: 2)
        #expect(places[device(1)] == nil)
        places.record(device(1), place(2, 3))
        places.forget(device(1))
        #expect(places[device(1)] == nil)
    }

    @Test
    func `No more devices than the limit are remembered, and the newest are among them`() {
        let places = DeviceWhereabouts(maximumCount: 320)
        for number in 0..<10_000 as Range<UInt64> { places.record(device(number), place(1, number)) }
        let known = (0..<10_000 as Range<UInt64>).filter { places[device($0)] != nil }
        #expect((100...320).contains(known.count))
        #expect(known.suffix(16) == Array(9984..<10_000))
    }
}
