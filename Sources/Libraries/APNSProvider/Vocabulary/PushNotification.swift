public import Foundation
import NIOCore
import Notifications

/// A notification that has been checked against the Guide's rules. Mistakes that the library can detect are refused
/// here, before the service sees them.
///
/// ```swift
/// let notification = try PushNotification(
///     topic: "com.example.app", APS(alert: "Bob wants to play poker", badge: 5))
/// ```
public struct PushNotification: Sendable, Hashable {
    /// The topic that the notification is addressed to, usually the app's bundle ID.
    public let topic: String
    /// The kind of the notification (`apns-push-type`).
    public let pushType: PushType
    /// The payload that the device receives.
    public let payload: PushPayload
    /// The notification's identifier. If it is nil, the service makes one, which the receipt contains.
    public let id: UUID?
    /// The time until which the service keeps the notification for a device that is offline.
    public let expiration: Expiration
    /// The urgency of the notification. If it is nil, the service uses 10.
    public let priority: Priority?
    /// The collapse identifier: notifications with the same one are shown as one. At most 64 bytes (Guide, Table
    /// 8-2).
    public let collapseID: String?

    /// Creates a notification with an encoded payload.
    ///
    /// If no push type is given, the topic's suffix decides, such as `.voip`. If the topic has no such suffix, the
    /// push type is `background` for a silent payload and `alert` otherwise.
    /// - Throws: ``ProviderError/Code/badNotification`` with the rule that is broken: the topic is not 1 to 255
    ///   letters, digits, hyphens and periods, or lacks the suffix of the push type; the payload is larger than the
    ///   push type allows, or not silent although the push type is `background`; the priority is not
    ///   allowed for the payload (Table 8-2); or the collapse identifier is empty, longer than 64 bytes or holds a
    ///   control character.
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
        // The service uses 10 if the priority is missing, which is an error for a silent notification (Table 8-2). A
        // push for another service, such as VoIP, is not a silent notification, even with content-available.
        self.priority = priority ?? (self.pushType == .background ? .considerate : nil)
        self.collapseID = collapseID
        try check()
    }

    /// Creates a notification with only an `aps` dictionary. See
    /// ``init(topic:payload:pushType:id:expiration:priority:collapseID:)``.
    /// - Throws: ``ProviderError/Code/badNotification`` if the payload or the notification breaks a rule.
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

    /// Creates a notification with keys of your own beside the `aps` dictionary. See
    /// ``init(topic:payload:pushType:id:expiration:priority:collapseID:)``.
    /// - Throws: ``ProviderError/Code/badNotification`` if the payload or the notification breaks a rule, or if
    ///   `custom` does not encode to a JSON dictionary without a key `aps`.
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
        guard topic.isName(maximumBytes: 255) else {
            throw ProviderError(.badNotification, "The topic is 1 to 255 letters, digits, hyphens and periods.")
        }
        if let suffix = pushType.topicKind?.suffix, !suffix.isEmpty, !topic.hasSuffix(suffix) {
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
            throw ProviderError(.badNotification, "The collapse identifier contains a control character.")
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

    func request(to deviceToken: DeviceToken) -> PushRequest {
        PushRequest(
            deviceToken: deviceToken.hexadecimal, topic: topic, payload: payload.buffer,
            id: id?.uuidString.lowercased(), expiration: expiration.seconds.map(String.init),
            priority: priority.map { String($0.rawValue) }, collapseID: collapseID, pushType: pushType.rawValue)
    }
}
