import APNSDevice
import Foundation

/// The screen on which notifications are shown.
protocol Desktop: Sendable {
    /// Shows a notification. It replaces an earlier one of the same app with the same collapse identifier.
    func show(_ shown: ShownNotification, of app: DesktopApp) async
    /// Shows the badge of an app; 0 removes it.
    func setBadge(_ badge: Int, of app: DesktopApp) async
    /// Removes a notification by its identifier, if it is on show.
    func remove(_ id: String) async
    func close() async
}

/// What the desktop shows of an app.
struct DesktopApp: Sendable, Hashable {
    var name: String
    /// The name of an icon, or its path.
    var icon: String?
    /// The name of its desktop file. The desktop groups notifications by it, and shows a badge beside it.
    var desktopEntry: String?
    /// The folder with its images and sounds.
    var resources: String?

    init(name: String, icon: String? = nil, desktopEntry: String? = nil, resources: String? = nil) {
        (self.name, self.icon, self.desktopEntry, self.resources) = (name, icon, desktopEntry, resources)
    }

    init(_ bundleID: String, _ manifest: Manifest?) {
        self.init(
            name: manifest?.name ?? bundleID, icon: manifest?.icon, desktopEntry: manifest?.desktopEntry,
            resources: manifest?.resources)
    }

    /// The path of one of the app's files.
    /// - Parameter name: from a provider. A name with a slash could lead out of the folder.
    /// - Returns: nil if there is no such file.
    func file(_ name: String) -> String? {
        guard let resources, (1...Self.maximumNameBytes).contains(name.utf8.count), !name.hasPrefix("."),
            name.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f && $0 != UInt8(ascii: "/") })
        else { return nil }
        let path = resources + "/" + name
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else {
            return nil
        }
        return path
    }

    /// The longest name of a file that Linux allows, in bytes.
    private static let maximumNameBytes = 255
}
