import APNSDevice
import CommonTesting
import Foundation
import Testing

@testable import DeviceAgent

/// The power of a machine, by the files of Linux.
struct MachinePowerTests {
    private func power(_ supplies: [String: [String: String]]) async throws -> Device.Power? {
        try await withTemporaryPath { path in
            for (name, files) in supplies {
                try FileManager.default.createDirectory(atPath: path + "/" + name, withIntermediateDirectories: true)
                for (file, text) in files {
                    try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)/\(file)"))
                }
            }
            return MachinePower.read(path)
        }
    }

    @Test func `A machine without a battery says nothing`() async throws {
        #expect(try await power([:]) == nil)
        #expect(try await power(["AC": ["type": "Mains", "online": "1"]]) == nil)
        let mouse = ["type": "Battery", "scope": "Device", "status": "Discharging", "capacity": "3"]
        #expect(try await power(["mouse": mouse]) == nil)
    }

    @Test(arguments: [
        ("Discharging", "80", Device.Power.awake), ("Discharging", "16", .awake), ("Discharging", "15", .low),
        ("Charging", "3", .charging), ("Full", "100", .charging), ("Not charging", "80", .charging),
        ("Discharging", "?", .awake),
    ])
    func `A battery is charging, low or neither`(status: String, capacity: String, expected: Device.Power) async throws
    {
        #expect(try await power(["BAT0": ["type": "Battery", "status": status, "capacity": capacity]]) == expected)
    }

    @Test func `Of two batteries the fuller one counts`() async throws {
        let (empty, full) = (["type": "Battery", "status": "Discharging", "capacity": "2"], ["capacity": "60"])
        #expect(try await power(["BAT0": empty, "BAT1": empty.merging(full) { $1 }]) == .awake)
    }
}
