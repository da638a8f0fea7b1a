import APNSDevice
import Foundation

/// What a device says of its power, kept in a file beside its identity: `device power` writes it, and a `device listen` that
/// runs says it again on each new connection.
struct PowerFile {
    private let path: String

    /// - Parameter identity: the path of the device's identity.
    init(identity: String) { path = identity + ".power" }

    /// Nil where nothing was said, and for what is none of the words.
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
