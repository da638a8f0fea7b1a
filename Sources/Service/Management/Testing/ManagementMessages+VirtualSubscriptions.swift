import Delivery
package import HTTPAPI
import Notifications
import Trust
import VirtualDevices
import WebPushEncryption

// The Web Push subscriptions of virtual devices, documented in docs/testing.md.
extension ManagementMessages {
    /// A subscription that a fixture or a new virtual device asks for. All but the name may be missing.
    package struct FixtureSubscription: Codable, Sendable, Hashable {
        package var bundleID: String?
        package var name: String
        package var vapid: String?
        package var plain: Bool?
        package var endpoint: String?
        package var p256dh: String?
        package var auth: String?
        package var privateKey: String?

        package init(
            bundleID: String? = nil,
            name: String,
            vapid: String? = nil,
            plain: Bool? = nil,
            endpoint: String? = nil,
            p256dh: String? = nil,
            auth: String? = nil,
            privateKey: String? = nil,
        ) {
            (self.bundleID, self.name, self.vapid, self.plain) = (bundleID, name, vapid, plain)
            (self.endpoint, self.p256dh, self.auth, self.privateKey) = (endpoint, p256dh, auth, privateKey)
        }

        package static let form: JSONForm<FixtureSubscription> = .object(
            "FixtureSubscription", FixtureSubscription.init,
            .optional("bundleID", .text(.bundleID), \.bundleID, "May be left out if the device has one app."),
            .required("name", .text(.subscription), \.name, "The app's name for it."),
            .optional(
                "vapid", .text(.any), \.vapid, "The only key that may sign the tokens of senders; any without it."),
            .optional(
                "plain", .boolean, \.plain, "Whether messages without encryption are accepted; false without it."),
            .optional("endpoint", .text(.any), \.endpoint, "Of an earlier one, to keep it; a new one without it."),
            .optional("p256dh", .text(.any), \.p256dh, "The public key that goes with privateKey."),
            .optional("auth", .text(.any), \.auth, "The secret: 16 bytes in base64url. A new one without it."),
            .optional("privateKey", .text(.any), \.privateKey, "32 bytes in base64url. A new one without it."))
    }

    /// A subscription of an app on a virtual device.
    package struct DeviceSubscription: JSONMessage, Hashable {
        package let bundleID: String
        package let name: String
        package let vapid: String?
        package let plain: Bool
        package let endpoint: String
        package let p256dh: String
        package let auth: String
        package let privateKey: String

        package static let form: JSONForm<DeviceSubscription> = .object(
            "DeviceSubscription", DeviceSubscription.init,
            .required("bundleID", .text(.bundleID), \.bundleID), .required("name", .text(.subscription), \.name),
            .optional("vapid", .text(.any), \.vapid), .required("plain", .boolean, \.plain),
            .required("endpoint", .text(.any), \.endpoint, "Where to send, a URL."),
            .required("p256dh", .text(.any), \.p256dh, "The public key, for the sender."),
            .required("auth", .text(.any), \.auth, "The secret, for the sender."),
            .required("privateKey", .text(.any), \.privateKey, "The private key, with which a test decrypts."))
    }
}

extension ManagementMessages.DeviceSubscription {
    init(_ subscription: VirtualSubscription) {
        self.init(
            bundleID: subscription.bundleID.rawValue, name: subscription.name,
            vapid: subscription.wanted.vapid.map { String(decoding: Base64URL.encoded($0), as: UTF8.self) },
            plain: subscription.wanted.isPlain, endpoint: subscription.url, p256dh: subscription.keys.p256dh,
            auth: subscription.keys.authText, privateKey: subscription.keys.privateText)
    }
}

extension ManagementMessages.FixtureSubscription {
    /// The completed form.
    init(_ subscription: VirtualSubscription) {
        let shown = ManagementMessages.DeviceSubscription(subscription)
        self.init(
            bundleID: shown.bundleID, name: shown.name, vapid: shown.vapid, plain: shown.plain ? true : nil,
            endpoint: shown.endpoint, p256dh: shown.p256dh, auth: shown.auth, privateKey: shown.privateKey)
    }
}
