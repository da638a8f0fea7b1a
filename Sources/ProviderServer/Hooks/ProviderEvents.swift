import Notifications
import ProviderStore

/// Makes the JSON of the events that hooks receive.
enum ProviderEvents {
    static func installationsEnded(
        _ installations: [EndedInstallation],
        bundleID: String,
        message: String,
    ) -> ProviderEvent {
        let ended = installations.map { ended -> JSONValue in
            ["id": .string(ended.id), "reason": .string(ended.reason), "at": .string(ended.at.text)]
        }
        return make(
            "installations.ended",
            ["bundleID": .string(bundleID), "message": .string(message), "installations": .array(ended)])
    }

    /// - Returns: nil if hooks get no event about the message's state.
    static func messageEnded(_ message: MessageRecord, bundleID: String) -> ProviderEvent? {
        let shown = MessageView.show(message, bundleID: bundleID)
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
