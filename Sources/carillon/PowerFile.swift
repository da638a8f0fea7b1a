import APNSDevice
import Foundation

/// The power that a device reports, kept in a file beside its identity: `device power` writes it, and a running `device listen`
/// reports it on each new connection.
struct PowerFile {
    private let path: String

    /// - Parameter identity: the path of the device's identity.
    init(identity: String) { path = identity + ".power" }

    /// Nil if there is no file, or if it holds none of the three words.
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
