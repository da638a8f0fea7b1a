import Foundation
import NIOCore
import Notifications

// What an app or the system asks of the service through its device.
extension Device {
    /// Registers an app, as it does at each launch, and gives its device token in hexadecimal digits: the same one as
    /// long as nothing changed (Guide, 2.1.4.4). Its length may change.
    public func register(_ bundleID: String) async throws(DeviceError) -> String {
        let response = try await send(CourierRequest(.put, Self.path(bundleID)))
        guard let token = JSONObject(response.body)?[text: "token"], !token.isEmpty else {
            throw DeviceError(.badResponse, "The courier's answer holds no device token.")
        }
        return token
    }

    /// Says that an app was removed from the device.
    /// - Returns: The device token that is no longer active; nil where the app never had one.
    @discardableResult
    public func unregister(_ bundleID: String) async throws(DeviceError) -> String? {
        let response = try await send(CourierRequest(.delete, Self.path(bundleID)))
        return JSONObject(response.body)?[text: "token"]
    }

    /// Reports the device's power to the service, now and again on each new connection: the service forgets it when the stream
    /// of notifications ends.
    public func report(_ power: Power) async throws(DeviceError) {
        _ = try await send(.state(power))
        remember(power)
    }

    /// Gives all apps on the device new device tokens, as after the device was erased or restored: each old one is no
    /// longer active, and nothing comes for an app until it registers again.
    public func reset() async throws(DeviceError) {
        _ = try await send(CourierRequest(.post, "/1/reset"))
    }

    private static func path(_ bundleID: String) -> String {
        // Whoever is to judge whether it is a bundle ID, the courier is: here it only has to fit a path.
        let allowed = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: ".-_~"))
        return "/1/apps/" + (bundleID.addingPercentEncoding(withAllowedCharacters: allowed) ?? "")
    }
}
