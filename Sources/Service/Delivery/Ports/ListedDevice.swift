package import Notifications

/// A device as the store knows it, with the apps that are or were on it.
package struct ListedDevice: Sendable, Hashable {
    package let key: DeviceKey
    /// In the order of the apps' numbers.
    package var apps: [ListedApp]

    package init(key: DeviceKey, apps: [ListedApp]) {
        self.key = key
        self.apps = apps
    }
}

extension [ListedDevice] {
    /// Adds an app of the last device, or of the next one.
    package mutating func append(_ app: ListedApp, of device: DeviceKey) {
        if last?.key == device {
            self[count - 1].apps.append(app)
        } else {
            append(ListedDevice(key: device, apps: [app]))
        }
    }
}

/// An app on a listed device.
package struct ListedApp: Sendable, Hashable {
    package let app: AppID
    package var registration: Registration
    /// The version of the newest notification in the app's mailbox; nil if the mailbox is empty.
    package var stored: MailboxVersion?
    /// How many notifications the mailbox has if it keeps more than one.
    package var kept: Int

    package init(app: AppID, registration: Registration, stored: MailboxVersion?, kept: Int = 0) {
        self.app = app
        self.registration = registration
        self.stored = stored
        self.kept = kept
    }
}
