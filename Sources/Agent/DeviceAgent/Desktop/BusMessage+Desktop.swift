import APNSDevice
import Foundation
import Notifications

// The messages that show something on the desktop.
extension BusMessage {
    /// The call that shows a notification (the Desktop Notifications Specification 1.2, "Notify").
    static func notify(
        _ shown: ShownNotification,
        of app: DesktopApp,
        replacing: UInt32,
        isBodyMarkup: Bool,
        languages: [String],
    ) -> BusMessage {
        let content = shown.content
        let (name, path) = (DesktopNotifications.name, DesktopNotifications.path)
        var message = BusMessage.call(name, path, name, "Notify")
        message.signature = "susssasa{sv}i"
        message.body.write(app.name)
        message.body.write(replacing)
        message.body.write(app.icon ?? "")
        // A notification of the desktop needs a summary. One without a title has the app's name there.
        let title = DesktopText.clean(content.title)
        message.body.write(title.isEmpty ? app.name : title)
        let lines = [content.subtitle, content.body].map(DesktopText.clean).filter { !$0.isEmpty }
            .joined(separator: "\n")
        message.body.write(isBodyMarkup ? escaped(lines) : lines)
        message.body.writeArray(alignment: 4) { array in
            array.write(DesktopNotifications.defaultAction)
            array.write(content.actionTitle.map(DesktopText.clean) ?? DesktopText.open(for: languages))
            for action in shown.actions {
                array.write(DesktopNotifications.actionPrefix + action.id)
                array.write(DesktopText.clean(action.title))
            }
        }
        message.body.writeArray(alignment: 8) { $0.writeHints(shown, of: app) }
        // An alert stays until the user closes it; a banner as long as the desktop wants.
        message.body.write(shown.style == .alert ? Int32(0) : Int32(-1))
        return message
    }

    /// The signal that changes the number beside an app's icon. Several docks and task bars take it (Unity's Launcher
    /// API).
    /// - Returns: nil if the app has no desktop file, because the number belongs to its icon.
    static func badge(_ badge: Int, of app: DesktopApp) -> BusMessage? {
        guard let entry = app.desktopEntry else { return nil }
        var message = BusMessage(
            kind: .signal, path: "/com/canonical/unity/launcherentry/1", interface: "com.canonical.Unity.LauncherEntry",
            member: "Update")
        message.signature = "sa{sv}"
        message.body.write("application://\(entry).desktop")
        message.body.writeArray(alignment: 8) { values in
            values.writeEntry("count", "x") { $0.write(Int64(badge)) }  // fits: Int has 64 bits
            values.writeEntry("count-visible", "b") { $0.write(UInt32(badge > 0 ? 1 : 0)) }
        }
        return message
    }

    /// A provider's text must not become markup.
    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}

extension BusWriter {
    fileprivate mutating func writeHints(_ shown: ShownNotification, of app: DesktopApp) {
        let content = shown.content
        writeEntry("urgency", "y") { $0.write(Self.urgency(content.interruptionLevel)) }
        if let entry = app.desktopEntry { writeEntry("desktop-entry", "s") { $0.write(entry) } }
        // The specification has no groups below those of apps. It lets programs name hints of their own.
        if !content.threadID.isEmpty {
            writeEntry("x-carillon-thread-id", "s") { $0.write(DesktopText.clean(content.threadID)) }
        }
        if let image = JSONObject(shown.notification.payload, .ofPayload)?[text: "image"].flatMap(app.file) {
            writeEntry("image-path", "s") { $0.write(URL(fileURLWithPath: image).absoluteString) }
        }
        guard let sound = content.sound, content.interruptionLevel != .passive else {
            return writeEntry("suppress-sound", "b") { $0.write(UInt32(1)) }
        }
        if let file = app.file(sound.name) {
            writeEntry("sound-file", "s") { $0.write(file) }
        } else {
            writeEntry("sound-name", "s") { $0.write("message-new-instant") }
        }
    }

    private static func urgency(_ level: NotificationContent.InterruptionLevel) -> UInt8 {
        switch level {
        case .passive: 0
        case .active, .timeSensitive: 1
        case .critical: 2
        }
    }
}
