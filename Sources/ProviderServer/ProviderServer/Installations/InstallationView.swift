import CampaignStore
import HTTPAPI
import Notifications

/// An installation, as the API shows it: what a request may set, and what only the server knows.
struct InstallationView {
    /// The members that only an answer has.
    private struct Known: Sendable {
        struct End: Sendable {
            let at: String
            let reason: String

            static let form: JSONForm<End> = JSONForm.object(
                nil, End.init(at:reason:),
                .required("at", .text(.any), \.at), .required("reason", .text(.any), \.reason))
        }

        let id: String
        let bundleID: String
        let registeredAt: String?
        let createdAt: String
        let changedAt: String
        let ended: End?

        static let form: JSONForm<Known> = JSONForm.object(
            nil, Known.init(id:bundleID:registeredAt:createdAt:changedAt:ended:),
            .required("id", .text(.installation), \.id),
            .required("bundleID", .text(.any), \.bundleID),
            .optional("registeredAt", .text(.any), \.registeredAt, "When the app last registered its device token."),
            .required("createdAt", .text(.any), \.createdAt, "When it was added."),
            .required("changedAt", .text(.any), \.changedAt),
            .optional("ended", End.form, \.ended, "When and why it ended. It receives no more messages."))
    }

    static let schema = Schema.named(
        "Installation", .object(InstallationMember.all.map(\.schema) + Known.form.schema.members))

    /// The JSON of an installation.
    static func json(_ installation: Installation, bundleID: String) -> JSONValue {
        let known = Known(
            id: installation.id, bundleID: bundleID, registeredAt: installation.registeredText,
            createdAt: installation.created.text, changedAt: installation.changed.text,
            ended: installation.end.map { Known.End(at: $0.at.text, reason: $0.reason) })
        return JSONValue.object(InstallationMember.values(installation)).merging(Known.form.write(known))
    }
}

extension Installation {
    /// When the app last registered its device token; nil if an import did not say it.
    var registeredText: String? { registered.milliseconds == 0 ? nil : registered.text }
}
