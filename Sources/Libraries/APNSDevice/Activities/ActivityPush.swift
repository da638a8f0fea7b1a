import Foundation
import Notifications

/// The keys of a push for a Live Activity. A key whose value has the wrong type counts as missing.
struct ActivityPush {
    var event: ActivityEvent
    /// Why every device ignores the push; nil if it does not.
    private let fault: ActivityFault?
    var timestamp: Date?
    var contentState: [UInt8]?
    var attributesType: String?
    var attributes: [UInt8]?
    var staleDate: Date?
    var dismissalDate: Date?
    var relevanceScore: Double?
    var updates: LiveActivity.UpdateSource

    /// - Returns: nil if the payload does not name an event.
    init?(_ payload: [UInt8]) {
        guard let aps = JSONObject(payload, .ofPayload)?[object: "aps"],
            let event = aps[text: "event"].flatMap(ActivityEvent.init)
        else { return nil }
        func date(_ key: String) -> Date? { aps[double: key].map { Date(timeIntervalSince1970: $0) } }
        func dictionary(_ key: String) -> [UInt8]? {
            aps[raw: key].flatMap { $0.first == UInt8(ascii: "{") ? $0 : nil }
        }
        self.event = event
        fault = ActivityFault(in: JSONValue(payload)?.members["aps"]?.members ?? [:])
        timestamp = date("timestamp")
        contentState = dictionary("content-state")
        attributesType = aps[text: "attributes-type"]
        attributes = dictionary("attributes")
        staleDate = date("stale-date")
        dismissalDate = date("dismissal-date")
        relevanceScore = aps[double: "relevance-score"]
        updates =
            aps[text: "input-push-channel"].map { .channel($0) }
            ?? (aps.isOn("input-push-token") ? .token : .app)
    }

    /// What a Live Activity starts with; nil if a part of it is missing.
    var beginning: (attributesType: String, attributes: [UInt8], contentState: [UInt8])? {
        guard let attributesType, let attributes, let contentState else { return nil }
        return (attributesType, attributes, contentState)
    }

    /// Returns why a device refuses the push, whichever Live Activities it shows; nil if this depends on them.
    /// - Parameter notification: the notification that has this push as its payload.
    func refusal(of notification: ReceivedNotification) -> DropReason? {
        switch event {
        case .start:
            guard notification.activity == nil, notification.channel == nil else { return .cannotStart }
        case .update, .end:
            guard !notification.startToken else { return .cannotUpdate }
        }
        return fault == nil ? nil : .nothingToShow
    }
}
