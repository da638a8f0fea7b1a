public import Foundation
import Notifications

/// A notification for all devices that are subscribed to a broadcast channel (Apple, *Sending broadcast push
/// notification requests to APNs*). Broadcasts exist for Live Activities.
public struct BroadcastNotification: Sendable, Hashable {
    /// The largest payload, in bytes.
    public static let maximumPayloadBytes = 5120

    /// The payload that the devices receive.
    public let payload: PushPayload
    /// The request's identifier. If it is nil, the service makes one, which the receipt contains.
    public let id: UUID?
    /// The time until which a channel stores this broadcast, if it stores its newest one. A channel that stores nothing
    /// accepts only ``PushNotification/Expiration/immediately``.
    public let expiration: PushNotification.Expiration
    /// The urgency. If it is nil, the request says 10, because APNs requires a priority.
    public let priority: PushNotification.Priority?

    /// Creates a broadcast with an encoded payload.
    /// - Parameters:
    ///   - payload: at most ``maximumPayloadBytes`` bytes.
    ///   - id: the request's identifier; nil to let the service make one.
    ///   - expiration: APNs requires one. The default fits every channel.
    ///   - priority: the urgency; nil for 10.
    /// - Throws: ``ProviderError/Code/badNotification`` if the payload is larger than ``maximumPayloadBytes``.
    public init(
        payload: PushPayload,
        id: UUID? = nil,
        expiration: PushNotification.Expiration = .immediately,
        priority: PushNotification.Priority? = nil,
    ) throws(ProviderError) {
        guard payload.count <= Self.maximumPayloadBytes else {
            throw ProviderError(
                .badNotification,
                "The payload has \(payload.count) bytes; a broadcast allows \(Self.maximumPayloadBytes).")
        }
        self.payload = payload
        self.id = id
        self.expiration = expiration
        self.priority = priority
    }

    /// Creates a broadcast for a Live Activity. See ``init(payload:id:expiration:priority:)``.
    /// - Throws: ``ProviderError/Code/badNotification`` if the payload breaks a rule or is too large.
    public init(
        _ aps: APS,
        id: UUID? = nil,
        expiration: PushNotification.Expiration = .immediately,
        priority: PushNotification.Priority? = nil,
    ) throws(ProviderError) {
        try self.init(payload: PushPayload(aps), id: id, expiration: expiration, priority: priority)
    }

    func request(to channel: String, of bundleID: String) -> PushRequest {
        var request = PushRequest(
            deviceToken: "", topic: nil, payload: payload.buffer, id: id?.uuidString.lowercased(),
            expiration: expiration.seconds.map(String.init),
            priority: String((priority ?? .immediate).rawValue),
            pushType: PushNotification.PushType.liveActivity.rawValue)
        request.route = .broadcast(bundleID: bundleID)
        request.channelID = channel
        return request
    }
}

extension ProviderClient {
    /// Sends one notification to all devices that are subscribed to a broadcast channel.
    ///
    /// If an attempt fails and can safely be repeated, the client sends again until the deadline, as it does for one
    /// device.
    /// - Parameters:
    ///   - broadcast: the notification.
    ///   - channel: the channel's identifier; see ``ChannelManager``.
    ///   - bundleID: the app's bundle ID.
    ///   - deadline: the time for the whole call; the configuration's by default.
    /// - Returns: The service's receipt. Its identifier is the request's identifier, `apns-request-id`.
    /// - Throws: ``ProviderError``. If its code is ``ProviderError/Code/rejected``, ``ProviderError/rejection`` has
    ///   the reason and the advice.
    @discardableResult
    public func broadcast(
        _ broadcast: BroadcastNotification,
        to channel: String,
        of bundleID: String,
        deadline: Duration? = nil,
    ) async throws(ProviderError) -> PushReceipt {
        let request = broadcast.request(to: channel, of: bundleID)
        if let problem = request.problem { throw problem }
        return try await answer(to: request, deadline: deadline, retriesRejections: true).receipt.get()
    }
}
