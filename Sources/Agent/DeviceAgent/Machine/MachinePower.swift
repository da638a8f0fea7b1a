import APNSDevice
import Foundation

/// The power of this machine, as Linux says it in `/sys/class/power_supply` (the kernel's ABI/testing/sysfs-class-power).
///
/// The service sends by it: on low power only what is urgent (RFC 8030, 5.3).
enum MachinePower {
    /// A battery that discharges and has no more than this counts as low, in percent. Desktops warn at about this level.
    static let lowPercent = 15

    /// - Parameter folder: the folder with a folder for each supply.
    /// - Returns: nil if the machine has no battery, or does not say.
    static func read(_ folder: String = "/sys/class/power_supply") -> Device.Power? {
        // Other systems have no such folder.
        let supplies = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        func value(_ supply: String, _ file: String) -> String? {
            (try? String(contentsOfFile: "\(folder)/\(supply)/\(file)", encoding: .utf8))?
                .trimmingCharacters(in: .whitespacesAndNewlines)
        }
        // A mouse has a battery too, whose scope is Device.
        let batteries = supplies.filter { value($0, "type") == "Battery" && value($0, "scope") != "Device" }
        guard !batteries.isEmpty else { return nil }
        guard batteries.contains(where: { value($0, "status") == "Discharging" }) else { return .charging }
        let levels = batteries.compactMap { value($0, "capacity").flatMap { Int($0) } }  // fits: nil if it does not
        guard let most = levels.max() else { return .awake }
        return most <= lowPercent ? .low : .awake
    }
}
