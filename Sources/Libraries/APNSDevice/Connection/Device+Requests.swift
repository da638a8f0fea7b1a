public import Foundation
import NIOCore
import Notifications

// Requests of an app or the system to the service.
extension Device {
    /// Registers an app and returns its device token as hexadecimal digits. Apps register at each launch. The token
    /// stays the same unless something changed (Guide, 2.1.4.4). Do not assume its length.
    /// - Throws: ``DeviceError``. ``DeviceError/Code/refused`` means that the courier does not accept the bundle ID.
    public func register(_ bundleID: String) async throws(DeviceError) -> String {
        let response = try await send(CourierRequest(.put, Self.path(bundleID)))
        guard let token = JSONObject(response.body)?[text: "token"], !token.isEmpty else {
            throw DeviceError(.badResponse, "The courier's answer contains no device token.")
        }
        return token
    }

    /// Registers an app and returns the device token of one of its services, as hexadecimal digits. Each service has a
    /// token of its own, which is only for the service's topic: a provider that uses it for another one gets
    /// DeviceTokenNotForTopic. The token stays the same as long as the app's own.
    /// - Throws: ``DeviceError``. ``DeviceError/Code/refused`` means that the courier does not accept the bundle ID or
    ///   the service; there is no device token for ``PushService/mdm``.
    public func register(_ bundleID: String, for service: PushService) async throws(DeviceError) -> String {
        let response = try await send(CourierRequest(.put, Self.path(bundleID) + "/" + service.rawValue.percentEncoded))
        guard let token = JSONObject(response.body)?[text: "token"], !token.isEmpty else {
            throw DeviceError(.badResponse, "The courier's answer contains no device token.")
        }
        return token
    }

    /// Returns the device token by which one Live Activity gets its updates, as hexadecimal digits. Each call gives a
    /// token that is valid for twelve hours, the longest time that a Live Activity is on show; earlier ones stay valid
    /// until their time. A provider that uses it later gets ExpiredToken.
    /// - Parameters:
    ///   - bundleID: the app's.
    ///   - activity: the Live Activity's identifier, a UUID of the device's choice.
    /// - Throws: ``DeviceError``. ``DeviceError/Code/refused`` means that the courier does not accept the bundle ID.
    public func register(_ bundleID: String, activity: UUID) async throws(DeviceError) -> String {
        let path = Self.path(bundleID) + "/\(PushService.liveActivity.rawValue)/\(activity.uuidString.lowercased())"
        let response = try await send(CourierRequest(.put, path))
        guard let token = JSONObject(response.body)?[text: "token"], !token.isEmpty else {
            throw DeviceError(.badResponse, "The courier's answer contains no device token.")
        }
        return token
    }

    /// Tells the service that an app was removed from the device.
    /// - Returns: The device token that is no longer active; nil if the app had none.
    /// - Throws: ``DeviceError`` if the request failed.
    @discardableResult
    public func unregister(_ bundleID: String) async throws(DeviceError) -> String? {
        let response = try await send(CourierRequest(.delete, Self.path(bundleID)))
        return JSONObject(response.body)?[text: "token"]
    }

    /// Subscribes an app that is registered on the device to a broadcast channel. The subscription lasts until it is
    /// ended, the app is removed or the channel is deleted.
    /// - Parameters:
    ///   - bundleID: the app's.
    ///   - channel: the channel's identifier, which the app's provider gives it.
    /// - Throws: ``DeviceError``. ``DeviceError/Code/refused`` means that the courier does not know the channel or the
    ///   app.
    public func subscribe(_ bundleID: String, to channel: String) async throws(DeviceError) {
        _ = try await send(CourierRequest(.put, Self.path(bundleID, channel: channel)))
    }

    /// Ends an app's subscription to a broadcast channel.
    /// - Throws: ``DeviceError`` if the request failed.
    public func unsubscribe(_ bundleID: String, from channel: String) async throws(DeviceError) {
        _ = try await send(CourierRequest(.delete, Self.path(bundleID, channel: channel)))
    }

    /// Reports the device's power state to the service, now and on each new connection. The service forgets it when
    /// the stream of notifications ends.
    /// - Throws: ``DeviceError`` if the request failed. The new state is then not reported on later connections
    ///   either.
    public func report(_ power: Power) async throws(DeviceError) {
        _ = try await send(.state(power))
        remember(power)
    }

    /// Makes all device tokens of the device inactive, as after the device was erased or restored. An app receives
    /// nothing until it registers again and gets a new device token.
    /// - Throws: ``DeviceError`` if the request failed.
    public func reset() async throws(DeviceError) {
        _ = try await send(CourierRequest(.post, "/1/reset"))
    }

    // The courier decides whether a name is valid. Here it only has to fit into a path.
    private static func path(_ bundleID: String) -> String { "/1/apps/" + bundleID.percentEncoded }

    private static func path(_ bundleID: String, channel: String) -> String {
        path(bundleID) + "/channels/" + channel.percentEncoded
    }
}
