import NIOCore
import Notifications

// Subscriptions to Web Push (RFC 8030) of an app on this device.
extension Device {
    /// Makes a subscription of a registered app, or changes the one of this name, which keeps its endpoint. It lasts until it is ended or
    /// the app is removed. Its messages come to ``DeviceDelegate/received(_:)`` with ``ReceivedNotification/webPush``.
    /// - Parameters:
    ///   - bundleID: the app's.
    ///   - name: 1 to 100 bytes of the app's choice: an account, or a chat.
    ///   - vapid: the only key that may send, 87 characters of base64url; nil if everybody may who knows the endpoint.
    ///   - isPlain: whether the service takes bodies that are not encrypted.
    /// - Returns: The endpoint, a URL of up to 1,000 bytes, for application servers.
    /// - Throws: ``DeviceError``. ``DeviceError/Code/refused`` means that the app is not registered, has 500 subscriptions
    ///   (`TooManySubscriptions`), or that a parameter is not valid.
    public func subscribe(
        _ bundleID: String,
        toWebPushAs name: String,
        vapid: String? = nil,
        isPlain: Bool = false,
    ) async throws(DeviceError) -> String {
        var members: [String: JSONValue] = ["plain": .bool(isPlain)]
        if let vapid { members["vapid"] = .string(vapid) }
        let response = try await send(
            CourierRequest(
                .put, Self.path(bundleID, subscription: name), body: ByteBuffer(string: JSONValue.object(members).text))
        )
        guard let endpoint = JSONObject(response.body)?[text: "endpoint"], !endpoint.isEmpty else {
            throw DeviceError(.badResponse, "The courier's answer contains no endpoint.")
        }
        return endpoint
    }

    /// Returns an app's subscriptions to Web Push.
    /// - Throws: ``DeviceError`` if the request failed.
    public func webPushSubscriptions(of bundleID: String) async throws(DeviceError) -> [WebPushSubscription] {
        let response = try await send(CourierRequest(.get, Self.path(bundleID, subscription: nil)))
        guard case .array(let list)? = JSONValue(response.body)?.members["subscriptions"] else {
            throw DeviceError(.badResponse, "The courier's answer contains no subscriptions.")
        }
        return list.compactMap { WebPushSubscription($0) }
    }

    /// Ends a subscription to Web Push with the messages that wait for it. Its endpoint is never valid again.
    /// - Throws: ``DeviceError`` if the request failed.
    public func unsubscribe(_ bundleID: String, fromWebPushAs name: String) async throws(DeviceError) {
        _ = try await send(CourierRequest(.delete, Self.path(bundleID, subscription: name)))
    }

    private static func path(_ bundleID: String, subscription: String?) -> String {
        let path = "/1/apps/" + bundleID.percentEncoded + "/subscriptions"
        return subscription.map { path + "/" + $0.percentEncoded } ?? path
    }
}
