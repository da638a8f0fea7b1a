public import Foundation
import NIOCore
import Notifications

/// A notification, checked by the rules of the Guide: what can be known to be wrong is refused here and not by the
/// service.
///
/// ```swift
/// let notification = try PushNotification(
///     topic: "com.example.app", APS(alert: "Bob wants to play poker", badge: 5))
/// ```
public struct PushNotification: Sendable, Hashable {
    /// What it is addressed to, usually the app's bundle ID.
    public let topic: String
    /// What it is for.
    public let pushType: PushType
    /// What is sent.
    public let payload: PushPayload
    /// Its identifier; nil lets the service make one, which the receipt names.
    public let id: UUID?
    /// Until when it is worth delivering.
    public let expiration: Expiration
    /// How urgent it is; nil lets the service decide, which takes 10.
    public let priority: Priority?
    /// Notifications with the same identifier are shown as one. At most 64 bytes (Guide, Table 8-2).
    public let collapseID: String?

    /// A notification with a payload that is encoded already.
    ///
    /// Without a push type it is the one that the topic's suffix names, as `.voip`; for the app's own topic
    /// ``PushType/background`` when the payload is silent, and ``PushType/alert`` otherwise.
    /// - Throws: ``ProviderError/Code/badNotification``, with the rule that is broken: the payload is larger than its
    ///   push type allows, the priority does not suit it (Table 8-2), the collapse identifier is longer than 64 bytes,
    ///   or the topic does not go with the push type.
    public init(
        topic: String,
        payload: PushPayload,
        pushType: PushType? = nil,
        id: UUID? = nil,
        expiration: Expiration = .unspecified,
        priority: Priority? = nil,
        collapseID: String? = nil,
    ) throws(ProviderError) {
        self.topic = topic
        self.pushType = pushType ?? PushType(topic: topic, isSilent: payload.isSilent)
        self.payload = payload
        self.id = id
        self.expiration = expiration
        // The service takes 10 for a missing priority, which is an error for a silent notification (Table 8-2). A push for
        // another service, such as VoIP, is not a silent notification, even with content-available.
        self.priority = priority ?? (self.pushType == .background ? .considerate : nil)
        self.collapseID = collapseID
        try check()
    }

    /// A notification with an `aps` dictionary alone. See
    /// ``init(topic:payload:pushType:id:expiration:priority:collapseID:)``.
    public init(
        topic: String,
        _ aps: APS,
        pushType: PushType? = nil,
        id: UUID? = nil,
        expiration: Expiration = .unspecified,
        priority: Priority? = nil,
        collapseID: String? = nil,
    ) throws(ProviderError) {
        try self.init(
            topic: topic, payload: PushPayload(aps), pushType: pushType, id: id, expiration: expiration,
            priority: priority, collapseID: collapseID)
    }

    /// A notification with keys of your own beside the `aps` dictionary. See
    /// ``init(topic:payload:pushType:id:expiration:priority:collapseID:)``.
    public init(
        topic: String,
        _ aps: APS,
        custom: some Encodable,
        pushType: PushType? = nil,
        id: UUID? = nil,
        expiration: Expiration = .unspecified,
        priority: Priority? = nil,
        collapseID: String? = nil,
    ) throws(ProviderError) {
        try self.init(
            topic: topic, payload: PushPayload(aps, custom: custom), pushType: pushType, id: id,
            expiration: expiration, priority: priority, collapseID: collapseID)
    }

    private func check() throws(ProviderError) {
        guard Self.isTopic(topic) else {
            throw ProviderError(.badNotification, "The topic is 1 to 255 letters, digits, hyphens and periods.")
        }
        if let suffix = pushType.topicSuffix, !suffix.isEmpty, !topic.hasSuffix(suffix) {
            throw ProviderError(.badNotification, "The topic of push type \(pushType) ends in \(suffix).")
        }
        guard payload.count <= pushType.maximumPayloadBytes else {
            throw ProviderError(
                .badNotification,
                "The payload has \(payload.count) bytes; push type \(pushType) allows "
                    + "\(pushType.maximumPayloadBytes) (Guide, 2.2).")
        }
        if let collapseID, !(1...CollapseIdentifier.maximumBytes).contains(collapseID.utf8.count) {
            throw ProviderError(.badNotification, "The collapse identifier has 1 to 64 bytes (Guide, Table 8-2).")
        }
        guard collapseID?.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7f }) != false else {
            throw ProviderError(.badNotification, "The collapse identifier holds a control character.")
        }
        guard pushType != .background || payload.isSilent else {
            throw ProviderError(
                .badNotification,
                "Push type background takes content-available without alert, badge and sound (Guide, 2.2.2).")
        }
        guard priority != .immediate || pushType != .background else {
            throw ProviderError(
                .badNotification, "Priority 10 is an error with content-available alone (Guide, Table 8-2).")
        }
    }

    private static func isTopic(_ topic: String) -> Bool {
        (1...255).contains(topic.utf8.count)
            && topic.utf8.allSatisfy {
                switch $0 {
                case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    func request(to deviceToken: DeviceToken) -> PushRequest {
        PushRequest(
            deviceToken: deviceToken.hexadecimal, topic: topic, payload: payload.buffer,
            id: id?.uuidString.lowercased(), expiration: expiration.seconds.map(String.init),
            priority: priority.map { String($0.rawValue) }, collapseID: collapseID, pushType: pushType.rawValue)
    }
}
