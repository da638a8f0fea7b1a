import Foundation
import Notifications
import CampaignStore

/// Makes the JSON that the API shows of messages and outcomes.
enum MessageView {
    /// - Parameter cause: why this server does not get on with the message. The store has it too, unless the store is the
    ///   cause.
    static func members(_ message: MessageRecord, bundleID: String, cause: String? = nil) -> [String: JSONValue] {
        let failed = message.tally.failed.mapValues(JSONValue.integer)
        var members: [String: JSONValue] = [
            "id": .string(message.id),
            "bundleID": .string(bundleID),
            "state": .string(message.state.rawValue),
            "createdAt": .string(message.created.text),
            "startsAt": .string(message.starts.text),
            "accepted": .integer(message.tally.accepted),
            "failed": .integer(message.tally.failed.values.reduce(0, &+)),
            "failedByReason": .object(failed),
        ]
        members["opened"] = .integer(message.tally.opened)
        members["title"] = MessageTitle.text(of: message.document).map(JSONValue.string)
        members["finishedAt"] = message.finished.map { .string($0.text) }
        members["rate"] = message.rate.map(JSONValue.integer)
        members["total"] = message.total.map { .integer(max($0, message.tally.total)) }
        members["cause"] = (cause ?? message.cause).map(JSONValue.string)
        return members
    }
}
