import Delivery
import Notifications
import Synchronization
import Testing

@testable import Management

@Suite("The devices of several nodes")
struct ClusterDevicesTests {
    private static let key = DeviceKey(environment: .production, device: DeviceID(rawValue: 1))

    @Test
    func `A node that has not answered is named, and is not asked again`() async throws {
        let device = ConnectedDevice(key: Self.key, since: Timestamp(milliseconds: 1), power: .awake, held: [:])
        let leftOut = Mutex<[Set<String>]>([])
        var cluster = ClusterDevices { devices, names in
            #expect(devices == [Self.key])
            leftOut.withLock { $0.append(names) }
            return OtherDevices(connected: [Self.key: device], unanswered: names.isEmpty ? ["two"] : ["three"])
        }
        #expect(cluster.hasOthers && cluster.unanswered.isEmpty)
        for _ in 0..<2 { #expect(try await cluster.connected(among: [Self.key]) == [Self.key: device]) }
        #expect(leftOut.withLock { $0 } == [[], ["two"]])
        #expect(cluster.unanswered == ["two", "three"])
    }

    @Test
    func `Without devices, or without other nodes, nobody is asked`() async throws {
        var cluster = ClusterDevices { _, _ in
            Issue.record("A node was asked.")
            return OtherDevices(connected: [:], unanswered: ["two"])
        }
        #expect(try await cluster.connected(among: []).isEmpty && cluster.unanswered.isEmpty)
        var alone = ClusterDevices(nil)
        #expect(!alone.hasOthers)
        #expect(try await alone.connected(among: [Self.key]).isEmpty)
    }
}
