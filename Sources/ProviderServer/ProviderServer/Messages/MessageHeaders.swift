import APNSProvider
import Foundation
import HTTPAPI
import Notifications

/// The headers of the notifications of a message (Guide, Table 8-2).
struct MessageHeaders: Sendable {
    private var topic: String?
    private let pushType: PushNotification.PushType?
    private var priority: PushNotification.Priority?
    /// Whole seconds since 1970, as in the header.
    private let expiration: Int64?
    private let collapseID: String?

    /// Their members of the request, which has others as well.
    static let form: JSONForm<MessageHeaders> = .object(
        nil, MessageHeaders.init(topic:pushType:priority:expiration:collapseID:),
        .optional("topic", .text(.line(maximumBytes: 255)), \.topic),
        .optional("pushType", pushTypeForm, \.pushType),
        .optional("priority", priorityForm, \.priority, "10, 5 or 1."),
        .optional("expiration", .integer(to: 253_402_300_799), \.expiration, "Seconds since 1970."),
        .optional("collapseID", .text(.line(maximumBytes: CollapseIdentifier.maximumBytes)), \.collapseID))

    private static let pushTypeForm: JSONForm<PushNotification.PushType> = JSONForm<String>
        .text(.oneOf(PushNotification.PushType.allCases.map(\.rawValue)))
        .map(to: \.rawValue, from: { PushNotification.PushType(rawValue: $0) }, allowed: "a push type")

    private static let priorityForm: JSONForm<PushNotification.Priority> = JSONForm<UInt8>.integer(from: 1, to: 10)
        .map(to: \.rawValue, from: { PushNotification.Priority(rawValue: $0) }, allowed: "10, 5 or 1")

    /// Checks what can be checked before there is a recipient, so that a message that must fail for everybody is
    /// refused.
    /// - Parameter payload: the payload of all recipients; nil if each gets another one.
    func check(bundleID: String, payload: PushPayload?) throws(Problem) {
        // Apps of a team may share a signing key, so the service would not refuse the topic of another app.
        if let topic, !TopicKind.allCases.contains(where: { topic == bundleID + $0.suffix }) {
            throw .invalid(
                "/topic",
                "The topic has to be the bundle ID \(bundleID), or this with the suffix of a service such as .voip.")
        }
        do throws(ProviderError) {
            try check(bundleID, payload)
        } catch {
            // If there is no fault without a header, this header is the fault.
            var (withoutTopic, withoutPriority) = (self, self)
            withoutTopic.topic = nil
            withoutPriority.priority = nil
            let others = [(withoutTopic, "/topic"), (withoutPriority, "/priority")]
            let place = others.first { (try? $0.0.check(bundleID, payload)) != nil }?.1
            throw .invalid(place ?? "/payload", error.cause)
        }
    }

    private func check(_ bundleID: String, _ payload: PushPayload?) throws(ProviderError) {
        // Every push type is possible with this payload.
        let payload =
            if let payload { payload } else { try PushPayload(json: Array(#"{"aps":{"content-available":1}}"#.utf8)) }
        _ = try notification(bundleID: bundleID, payload: payload, id: UUID())
    }

    /// The service that gets the notifications; nil for the app itself.
    func service(of bundleID: String) -> String? {
        AppService.name(pushType: pushType?.rawValue, topic: topic, bundleID: bundleID)
    }

    /// A channel that stores nothing accepts only broadcasts that expire immediately, so this is the default.
    func broadcast(payload: PushPayload, id: UUID) throws(ProviderError) -> BroadcastNotification {
        try BroadcastNotification(
            payload: payload, id: id, expiration: expiration == nil ? .immediately : end, priority: priority)
    }

    func notification(
        bundleID: String,
        payload: PushPayload,
        id: UUID,
    ) throws(ProviderError) -> PushNotification {
        try PushNotification(
            topic: topic ?? pushType?.topic(for: bundleID) ?? bundleID, payload: payload, pushType: pushType, id: id,
            expiration: end, priority: priority, collapseID: collapseID)
    }

    private var end: PushNotification.Expiration {
        switch expiration {
        case nil: .unspecified
        case 0: .immediately
        case let seconds?: .at(Date(timeIntervalSince1970: Double(seconds)))
        }
    }
}
