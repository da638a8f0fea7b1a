import CampaignStore
import HTTPAPI
import Notifications

extension ProviderMessages {
    /// The audience of a message, of a stored message, or to be saved. ``AudienceDefinition`` is what it means.
    struct AudienceRequest: JSONMessage {
        let conditions: AudienceConditions
        /// The saved audience that a request names.
        var saved: String?
        /// The conditions of a saved audience. In a stored message they replace its name, so that a change of the saved
        /// audience does not change a message that was accepted.
        var savedConditions: AudienceConditions?
        var channel: String?
        /// The app of an audience to be saved.
        var bundleID: String?

        /// The audience of a message.
        static let form: JSONForm<AudienceRequest> = .object(
            "Audience", { AudienceRequest(conditions: $0, saved: $1, channel: $2) },
            .members(of: AudienceConditions.form, \.conditions),
            .optional(
                "saved", .text(.audienceName), \.saved, "A saved audience, whose conditions have to be met too."),
            channelMember)

        /// The audience of a stored message.
        static let storedForm: JSONForm<AudienceRequest> = .object(
            nil, { AudienceRequest(conditions: $0, savedConditions: $1, channel: $2) },
            .members(of: AudienceConditions.form, \.conditions),
            .optional("saved", AudienceConditions.form, \.savedConditions),
            channelMember)

        /// An audience to be saved.
        static let savedForm: JSONForm<AudienceRequest> = .object(
            "AudienceRequest", { AudienceRequest(conditions: $0, bundleID: $1) },
            .members(of: AudienceConditions.form, \.conditions), .bundleID(\.bundleID))

        private static let channelMember: JSONMember<AudienceRequest, String?> = .optional(
            "channel", .text(.channel), \.channel, "A broadcast channel. Only environment may be beside it.")

        /// The names of the members that are given, without that of the app.
        var keys: [String] {
            let isNarrowed = saved != nil || savedConditions != nil
            return conditions.keys + (isNarrowed ? ["saved"] : []) + (channel == nil ? [] : ["channel"])
        }
    }

    /// The conditions that a message's audience and a saved one have in common.
    struct AudienceConditions: JSONMessage {
        let everybody: Bool?
        let installations: JSONValue?
        let users: JSONValue?
        let tags: String?
        let expression: String?
        let language: String?
        let environment: Environment?

        static let form: JSONForm<AudienceConditions> = .object(
            nil, AudienceConditions.init,
            .optional("everybody", .boolean, \.everybody, "true"),
            .optional(
                "installations", namesOrValues(of: .installation), \.installations,
                "Identifiers, or an object with values for each."),
            .optional("users", namesOrValues(of: .shortLine), \.users, "Users, or an object with values for each."),
            .optional(
                "tags", .text(.upTo(bytes: AudienceExpression.maximumBytes)), \.tags,
                "An expression such as (news && sv) && !muted."),
            .optional(
                "where", .text(.upTo(bytes: AudienceExpression.maximumBytes)), \.expression,
                "An expression such as appVersion >= 2.1 and not (language = sv or points > 5)."),
            .optional("language", .text(.language), \.language, "The first language of the installation."),
            .optional("environment", .environment, \.environment))

        /// How many recipients a request may name.
        static let count = 1...ProviderServerLimits.namedRecipients

        static func names(of format: TextFormat) -> JSONForm<[String]> {
            .list(of: .text(format), from: count.lowerBound, to: count.upperBound)
        }

        private static func namesOrValues(of format: TextFormat) -> JSONForm<JSONValue> {
            .json(.oneOf([names(of: format).schema, .openObject]))
        }

        /// The names of the conditions that are given.
        var keys: [String] { Self.form.write(self).members.keys }
    }

    struct SavedAudience: JSONMessage {
        let name: String
        let bundleID: String
        let audience: JSONValue
        let changedAt: String
        var recipients: Int64?

        static let form: JSONForm<SavedAudience> = .object(
            "SavedAudience", SavedAudience.init,
            .required("name", .text(.audienceName), \.name), .required("bundleID", .text(.any), \.bundleID),
            .required("audience", .json(.openObject), \.audience, "The conditions."),
            .required("changedAt", .text(.any), \.changedAt),
            .optional("recipients", .integer(), \.recipients, "How many installations meet the conditions now."))
    }
}

extension ProviderMessages.SavedAudience {
    init(_ audience: SavedAudienceRecord, bundleID: String) {
        self.init(
            name: audience.name, bundleID: bundleID, audience: audience.conditions ?? [:],
            changedAt: audience.changed.text)
    }
}

extension SavedAudience {
    /// The JSON of the conditions alone; nil if the store has no JSON.
    var conditions: JSONValue? {
        JSONValue(document, maximumDepth: APILimits.documentDepth)?.without("bundleID")
    }
}
