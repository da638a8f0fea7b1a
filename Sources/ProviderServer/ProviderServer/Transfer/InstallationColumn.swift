import CampaignStore
import Notifications

/// A column of CSV.
struct InstallationColumn: Sendable {
    let name: String
    /// Whether the field is a list, with spaces between its items.
    var isList = false
    let field: @Sendable (Installation) -> String

    private init(_ name: String, _ field: @escaping @Sendable (Installation) -> String?) {
        self.name = name
        self.field = { field($0) ?? "" }
    }

    private init(_ name: String, list: @escaping @Sendable (Installation) -> [String]) {
        self.init(name) { list($0).joined(separator: " ") }
        isList = true
    }

    /// The columns that are named as the members of the installation's JSON.
    static let members = [
        InstallationColumn("id", \.id),
        InstallationColumn("deviceToken", \.deviceToken),
        InstallationColumn("environment", \.environment.rawValue),
        InstallationColumn("languages", list: \.languages),
        InstallationColumn("timeZone", \.timeZone),
        InstallationColumn("user", \.user),
        InstallationColumn("tags", list: \.tags),
        InstallationColumn("appTags", list: { $0.appTags ?? [] }),
        InstallationColumn("appVersion", \.appVersion),
        InstallationColumn("tokens", list: \.tokens.words),
        InstallationColumn("badge") { $0.badge == 0 ? nil : String($0.badge) },
    ]

    /// The columns of an export. With the last three, an import of an export, for example into another store, does not
    /// bring ended installations back.
    static let all =
        members + [
            InstallationColumn("registeredAt", \.registeredText),
            InstallationColumn("createdAt", \.created.text),
            InstallationColumn("endedAt") { $0.end?.at.text },
            InstallationColumn("endReason", \.end?.reason),
        ]
}
