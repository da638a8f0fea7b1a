import APNSDevice
import CommandSupport
import Foundation

/// A file beside a device's identity with the power that the device reports. `device power` writes it, and a running
/// `device listen` reports it on each new connection.
struct PowerFile {
    private let path: String

    /// - Parameter identity: the path of the identity file.
    init(identity: String) { path = identity + ".power" }

    /// Nil if there is no file, or if it does not contain one of the three words.
    func read() -> Device.Power? {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        return Device.Power(rawValue: text.trimmingCharacters(in: .whitespacesAndNewlines))
    }

    func write(_ power: Device.Power) throws {
        do {
            try Data("\(power.rawValue)\n".utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw CommandError("\(path) cannot be written.")
        }
    }
}
