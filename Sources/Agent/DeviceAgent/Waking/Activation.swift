import Foundation

/// The commands that start an app which may belong to another user.
enum Activation {
    /// Whether the agent is a service of the system, and not of a user who has logged in. It then starts units of the
    /// system, which root or a rule of polkit allows.
    static var isSystem: Bool { geteuid() == 0 || ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] == nil }

    static func command(for manifest: Manifest, isSystem: Bool) -> [String] {
        if let unit = manifest.unit {
            let manager = isSystem ? "--system" : "--user"
            return ["systemctl", manager, "--no-ask-password", "--no-block", "start", "--", unit]
        }
        let bus = isSystem ? "--system" : "--user"
        return [
            "busctl", bus, "call", "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
            "StartServiceByName", "su", manifest.busName ?? "", "0",
        ]
    }

    /// These programs find the manager and the bus through the environment.
    static var environment: [String: String] { EventVariables.base }
}
