import HTTPAPI
import Notifications
import CampaignStore

/// Makes the JSON that the API shows of saved audiences.
enum SavedAudienceView {
    /// The members of a request that are not conditions.
    static let extraKeys = ["bundleID"]

    static func show(_ audience: SavedAudience, bundleID: String) -> [String: JSONValue] {
        var conditions = JSONValue(audience.document, maximumDepth: APILimits.documentDepth) ?? [:]
        if case .object(var members) = conditions {
            for name in extraKeys { members[name] = nil }
            conditions = .object(members)
        }
        return [
            "name": .string(audience.name), "bundleID": .string(bundleID), "audience": conditions,
            "changedAt": .string(audience.changed.text),
        ]
    }
}
