import CampaignStore
import HTTPAPI
import Notifications

/// A saved audience, as the API shows it.
struct SavedAudienceView: Sendable {
    let name: String
    let bundleID: String
    let audience: JSONValue
    let changedAt: String
    var recipients: Int64?

    static let form: JSONForm<SavedAudienceView> = JSONForm.object(
        "SavedAudience", SavedAudienceView.init(name:bundleID:audience:changedAt:recipients:),
        .required("name", .text(.audienceName), \.name),
        .required("bundleID", .text(.any), \.bundleID),
        .required("audience", .json(.openObject), \.audience, "The conditions."),
        .required("changedAt", .text(.any), \.changedAt),
        .optional("recipients", .integer(), \.recipients, "How many installations meet the conditions now."))

    /// The members of a request that are not conditions.
    static let extraKeys = ["bundleID"]
}

extension SavedAudienceView {
    init(_ audience: SavedAudience, bundleID: String) {
        let document = JSONValue(audience.document, maximumDepth: APILimits.documentDepth) ?? [:]
        self.init(
            name: audience.name, bundleID: bundleID,
            audience: Self.extraKeys.reduce(document) { $0.without($1) }, changedAt: audience.changed.text)
    }
}
