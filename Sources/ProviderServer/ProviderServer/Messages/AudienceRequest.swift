import CampaignStore
import HTTPAPI
import Notifications

/// An audience in the form that a request or the store has.
struct AudienceRequest: Sendable {
    /// The conditions that a message's audience and a saved one have in common.
    struct Conditions: Sendable {
        let everybody: Bool?
        let installations: JSONValue?
        let users: JSONValue?
        let tags: String?
        let expression: String?
        let language: String?
        let environment: String?
    }

    let conditions: Conditions
    /// The saved audience that a request names.
    var saved: String?
    /// The conditions of a saved audience. In a stored message they replace its name, so that a change of the saved
    /// audience does not change a message that was accepted.
    var savedConditions: Conditions?
    var channel: String?
    /// The app of an audience to be saved.
    var bundleID: String?
}

extension AudienceRequest.Conditions {
    static let form: JSONForm<Self> = .object(
        nil, Self.init(everybody:installations:users:tags:expression:language:environment:),
        .optional("everybody", .boolean, \.everybody, "true"),
        .optional(
            "installations", namesOrValues(of: .installation), \.installations,
            "Identifiers, or an object with values for each."),
        .optional("users", namesOrValues(of: .shortLine), \.users, "Users, or an object with values for each."),
        .optional(
            "tags", .text(.upTo(bytes: TagExpression.maximumBytes)), \.tags,
            "An expression such as (news && sv) && !muted."),
        .optional(
            "where", .text(.upTo(bytes: AudienceExpression.maximumBytes)), \.expression,
            "An expression such as appVersion >= 2.1 and not (language = sv or points > 5)."),
        .optional("language", .text(.language), \.language, "The first language of the installation."),
        .optional("environment", .text(.environment), \.environment))

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

extension AudienceRequest {
    /// The audience of a message.
    static let form: JSONForm<AudienceRequest> = .object(
        "Audience", { AudienceRequest(conditions: $0, saved: $1, channel: $2) },
        .members(of: Conditions.form, \.conditions),
        .optional(
            "saved", .text(.audienceName), \.saved, "A saved audience, whose conditions have to be met too."),
        channelMember)

    /// The audience of a stored message.
    static let storedForm: JSONForm<AudienceRequest> = .object(
        nil, { AudienceRequest(conditions: $0, savedConditions: $1, channel: $2) },
        .members(of: Conditions.form, \.conditions),
        .optional("saved", Conditions.form, \.savedConditions),
        channelMember)

    /// An audience to be saved.
    static let savedForm: JSONForm<AudienceRequest> = .object(
        "AudienceRequest", { AudienceRequest(conditions: $0, bundleID: $1) },
        .members(of: Conditions.form, \.conditions),
        .optional("bundleID", .text(.bundleID), \.bundleID, "The app. A key of an app needs no name."))

    private static let channelMember: JSONMember<AudienceRequest, String?> = .optional(
        "channel", .text(.line(maximumBytes: 128)), \.channel,
        "A broadcast channel. Only environment may be beside it.")

    /// The names of the members that are given, without that of the app.
    var keys: [String] {
        let isNarrowed = saved != nil || savedConditions != nil
        return conditions.keys + (isNarrowed ? ["saved"] : []) + (channel == nil ? [] : ["channel"])
    }
}
