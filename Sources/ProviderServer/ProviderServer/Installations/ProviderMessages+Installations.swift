import CampaignStore
import HTTPAPI
import Notifications

extension ProviderMessages {
    /// What a request says of an installation.
    struct InstallationRequest {
        static let schema = Schema.named(
            "InstallationRequest",
            .object(
                [.optional("bundleID", bundleIDForm.schema, meaningOfBundleID)] + InstallationMember.all.map(\.schema)))
        private static let bundleIDForm = JSONForm<String>.text(.bundleID)

        private let reader: DocumentReader

        init(_ value: JSONValue) throws(Problem) {
            reader = try DocumentReader(value, at: "", keys: Self.schema.keys)
        }

        /// Whether the document says something about a property.
        func has(_ key: String) -> Bool { reader.members[key] != nil }

        var bundleID: String? {
            get throws(Problem) { try reader.read("bundleID", Self.bundleIDForm) }
        }

        /// The installation that the document describes.
        func installation(
            _ id: String,
            registered: Timestamp,
            now: Timestamp,
        ) throws(Problem) -> InstallationRecord {
            // A document without a device token is a fault.
            var installation = InstallationRecord(
                id: id, deviceToken: "", environment: .production, registered: registered)
            installation.changed = now
            for member in InstallationMember.all { try member.read(reader, &installation) }
            return installation
        }
    }

    /// An installation: what a request may set, and what only the server knows.
    struct Installation: Sendable {
        private let record: InstallationRecord
        private let known: Known

        static let schema = Schema.named(
            "Installation", .object(InstallationMember.all.map(\.schema) + Known.form.schema.members))

        init(_ record: InstallationRecord, bundleID: String) {
            self.record = record
            known = Known(
                id: record.id, bundleID: bundleID, registeredAt: record.registeredText, createdAt: record.created.text,
                changedAt: record.changed.text, ended: record.end.map { End(at: $0.at.text, reason: $0.reason) })
        }

        var json: JSONValue { .object(InstallationMember.values(record).merging(Known.form.write(known).members)) }

        /// The members that only an answer has.
        private struct Known: JSONMessage {
            let id: String
            let bundleID: String
            let registeredAt: String?
            let createdAt: String
            let changedAt: String
            let ended: End?

            static let form: JSONForm<Known> = .object(
                nil, Known.init,
                .required("id", .text(.installation), \.id), .required("bundleID", .text(.any), \.bundleID),
                .optional(
                    "registeredAt", .text(.any), \.registeredAt, "When the app last registered its device token."),
                .required("createdAt", .text(.any), \.createdAt, "When it was added."),
                .required("changedAt", .text(.any), \.changedAt),
                .optional("ended", End.form, \.ended, "When and why it ended. It receives no more messages."))
        }

        private struct End: JSONMessage {
            let at: String
            let reason: String

            static let form: JSONForm<End> = .object(
                nil, End.init,
                .required("at", .text(.any), \.at), .required("reason", .text(.any), \.reason))
        }
    }

    /// A notification that was opened.
    struct OpenedRequest: JSONMessage {
        let message: String

        static let form: JSONForm<OpenedRequest> = .object(
            "OpenedRequest", OpenedRequest.init(message:),
            .required("message", .text(.identifier), \.message, "The value of carillon-message in the payload."))
    }

    /// What an import has stored, and which lines it could not read.
    struct ImportReport: JSONMessage {
        var imported = 0
        var bad = 0
        var badLines: [BadLine] = []

        static let form: JSONForm<ImportReport> = .object(
            "ImportReport", ImportReport.init,
            .required("imported", .integer(), \.imported), .required("bad", .integer(), \.bad),
            .required("badLines", .list(of: BadLine.form), \.badLines, "The first \(APILimits.listItems)."))
    }

    struct BadLine: JSONMessage {
        /// The number of the line, from 1.
        let line: Int
        let detail: String
        let pointer: String?

        static let form: JSONForm<BadLine> = .object(
            nil, BadLine.init,
            .required("line", .integer(), \.line), .required("detail", .text(.any), \.detail),
            .optional("pointer", .text(.any), \.pointer))
    }
}

extension Installation {
    /// When the app last registered its device token; nil if an import did not say it.
    var registeredText: String? { registered.milliseconds == 0 ? nil : registered.text }
}
