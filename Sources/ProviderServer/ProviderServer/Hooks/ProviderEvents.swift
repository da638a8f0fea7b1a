import CampaignStore
import HTTPAPI
import Notifications

/// Makes the JSON of the events that hooks receive.
enum ProviderEvents {
    /// - Parameter message: the message whose answers said that the device tokens are invalid; nil if the feedback
    ///   service said so.
    static func installationsEnded(
        _ installations: [EndedInstallation],
        bundleID: String,
        message: String?,
    ) -> ProviderEvent {
        let ended = installations.map { ended -> JSONValue in
            ["id": .string(ended.id), "reason": .string(ended.reason), "at": .string(ended.at.text)]
        }
        var data: [String: JSONValue] = ["bundleID": .string(bundleID), "installations": .array(ended)]
        data["message"] = message.map(JSONValue.string)
        return make("installations.ended", data)
    }

    /// - Returns: nil if hooks get no event about the message's state.
    static func messageEnded(_ message: MessageRecord, bundleID: String) -> ProviderEvent? {
        let shown = ProviderMessages.Message(message, bundleID: bundleID).json
        switch message.state {
        case .finished: return make("message.finished", ["message": shown])
        case .paused: return make("message.failed", ["message": shown])
        case .scheduled, .running, .cancelled: return nil
        }
    }

    private static func make(_ kind: String, _ data: [String: JSONValue]) -> ProviderEvent {
        let body: JSONValue = ["type": .string(kind), "data": .object(data)]
        return ProviderEvent(kind: kind, body: Array(body.text.utf8))
    }
}
