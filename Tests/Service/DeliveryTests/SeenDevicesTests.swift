import Notifications
import Testing

@testable import Delivery

/// What a node remembers of devices for people.
struct SeenDevicesTests {
    private func device(_ number: UInt64) -> DeviceKey {
        DeviceKey(environment: .production, device: DeviceID(rawValue: number))
    }

    @Test func `The software stays when the device comes and goes`() {
        let seen = SeenDevices()
        seen.saw(device(1), at: Timestamp(milliseconds: 1))
        #expect(seen.entry(of: device(1)) == .init(software: nil, lastSeen: Timestamp(milliseconds: 1)))
        seen.reported("kiosk 1", by: device(1), at: Timestamp(milliseconds: 2))
        seen.saw(device(1), at: Timestamp(milliseconds: 3))
        #expect(seen.entry(of: device(1)) == .init(software: "kiosk 1", lastSeen: Timestamp(milliseconds: 3)))
        #expect(seen.entry(of: device(2)) == nil)
    }

    @Test func `Beyond the limit those that were not seen for longest are forgotten`() {
        let seen = SeenDevices(maximumCount: 16)
        for number in 1...16 { seen.saw(device(UInt64(number)), at: Timestamp(milliseconds: UInt64(number))) }
        seen.saw(device(1), at: Timestamp(milliseconds: 17))
        seen.saw(device(17), at: Timestamp(milliseconds: 18))
        let left = (1...17).filter { seen.entry(of: device(UInt64($0))) != nil }
        #expect(left == [1] + Array(5...17))
    }

    @Test func `Devices that were all seen at once are not kept beyond the limit`() {
        let seen = SeenDevices(maximumCount: 16)
        for number in 1...17 { seen.saw(device(UInt64(number)), at: Timestamp(milliseconds: 1)) }
        #expect((1...17).filter { seen.entry(of: device(UInt64($0))) != nil } == [17])
    }
}
