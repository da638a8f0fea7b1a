import APNSProvider
import Foundation

/// The device tokens that apps have sent. They are in memory only; a real backend has a database here.
actor Devices: DeviceTokens {
    struct Device: Sendable {
        let token: DeviceToken
        let topic: String
        var languages: [String]
        var registered: Date
    }

    private var devices: [DeviceToken: Device] = [:]

    func register(_ token: DeviceToken, topic: String, languages: [String]) {
        devices[token] = Device(token: token, topic: topic, languages: languages, registered: Date())
    }

    func all() -> [Device] { Array(devices.values) }

    func registrationTime(of deviceToken: DeviceToken, topic: String) -> Date? { devices[deviceToken]?.registered }

    func remove(_ deviceToken: DeviceToken, topic: String, registeredAt time: Date) {
        if devices[deviceToken]?.registered == time { devices[deviceToken] = nil }
    }
}
