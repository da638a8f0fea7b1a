import Foundation
import Notifications
import CampaignStore

/// Makes the JSON that the API shows of messages and outcomes.
enum MessageView {
    static func show(_ message: MessageRecord, bundleID: String) -> JSONValue {
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
        members["title"] = MessageTitle.text(of: message.document).map(JSONValue.string)
        members["finishedAt"] = message.finished.map { .string($0.text) }
        members["rate"] = message.rate.map(JSONValue.integer)
        members["cause"] = message.cause.map(JSONValue.string)
        return .object(members)
    }

    static func show(_ kept: KeptOutcome, of message: String) -> JSONValue {
        let id = NotificationName.make(message: message, installation: kept.outcome.installation)
        var members: [String: JSONValue] = [
            "apnsID": .string(id.uuidString.lowercased()),
            "at": .string(kept.outcome.at.text),
            "status": .integer(Int64(kept.outcome.status)),
        ]
        members["installation"] = kept.installation.map(JSONValue.string)
        members["reason"] = kept.outcome.reason.map(JSONValue.string)
        return .object(members)
    }
}
