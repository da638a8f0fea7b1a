import APNSProvider
import CampaignStore
import HTTPAPI
import Notifications

/// The forms of answers that have no type of their own.
enum ProviderSchemas {
    private static let text = Schema.string(.any)
    private static let count = Schema.integer(0...Int64.max)

    static let status = Schema.named("Status", .object([.required("status", text)]))

    static let app = Schema.named(
        "App",
        .object([
            .required("bundleID", .string(.bundleID)),
            .required("teamID", .string(.accountID)),
            .required("acceptsClaimedUsers", .boolean),
            .required(
                "environments", .object(Environment.allCases.map { .optional($0.rawValue, environment) }),
                "Where the server sends to, by environment."),
            .optional("identity", .openObject, "The identity provider whose tokens the server accepts."),
            .optional("clientKey", text, "Only the answer that makes the app has it."),
            .optional("serverKey", text, "Only the answer that makes the app has it."),
        ]))

    private static let environment = Schema.named(
        "AppEnvironment",
        .object([
            .required("url", text), .optional("authority", text), .optional("feedback", text),
            .optional("channels", text),
            .optional("keyID", text, "If it has a signing key."),
            .optional("certificate", .boolean, "If it has a certificate."),
        ]))

    static let installation = Schema.named(
        "Installation",
        .object(InstallationDocument.requestMembers.filter { $0.name != "bundleID" } + installationMembers))

    /// The members that only an answer has.
    private static let installationMembers: [Schema.Member] = [
        .required("id", .string(.installation)),
        .required("bundleID", text),
        .optional("registeredAt", text, "When the app last registered its device token."),
        .required("createdAt", text, "When it was added."),
        .required("changedAt", text),
        .optional(
            "ended", .object([.required("at", text), .required("reason", text)]),
            "When and why it ended. It receives no more messages."),
    ]

    static let importReport = Schema.named(
        "ImportReport",
        .object([
            .required("imported", count), .required("bad", count),
            .required(
                "badLines",
                .array(
                    .object([
                        .required("line", count), .required("detail", text), .optional("pointer", text),
                    ])), "The first \(APILimits.listItems)."),
        ]))

    static let savedAudience = Schema.named(
        "SavedAudience",
        .object([
            .required("name", .string(.audienceName)), .required("bundleID", text),
            .required("audience", .openObject, "The conditions."), .required("changedAt", text),
            .optional("recipients", count, "How many installations meet the conditions now."),
        ]))

    static let message = Schema.named(
        "Message",
        .object([
            .required("id", text), .required("bundleID", text),
            .required("state", .string(.oneOf(MessageRecord.State.allCases.map(\.rawValue)))),
            .required("createdAt", text), .required("startsAt", text), .optional("finishedAt", text),
            .required("accepted", count), .required("failed", count),
            .required("opened", count, "How many opened it, as the app says."),
            .required("failedByReason", .openObject, "How many failed, by reason."),
            .optional("total", count, "How many recipients it has, as soon as they are counted."),
            .optional("title", text, "The title or the body of its alert."),
            .optional("rate", count), .optional("cause", text, "Why sending waits, or why it stopped."),
            .optional("recipients", count), .optional("request", .any),
            .optional("outcomes", .array(OutcomeView.form.schema), "The first outcomes, if the request waited."),
        ]))

    /// The answer to a request that waited for the end of a message, or to a dry run.
    static let messageOrDryRun = Schema.named("MessageOrDryRun", .openObject)

    static let rate = Schema.named(
        "MessagePatch",
        .object([.required("rate", .any, "Notifications a second; null removes the limit.")]))

    static let reason = Schema.named(
        "Reason",
        .object([
            .required("reason", text), .required("status", .integer(100...599)), .required("meaning", text),
            .required("advice", text),
        ]))

    static let ended = Schema.named("Ended", .object([.required("ended", count)]))
    static let link = Schema.named("Link", .object([.required("url", text)]))
}

extension Schema {
    /// A page of a list.
    static func page(of item: Schema) -> Schema {
        .object([
            .required("items", .array(item)),
            .optional("next", .string(.any), "The value of `after` for the next page; missing on the last page."),
        ])
    }
}

extension TextFormat {
    /// Clients remove the segments `.` and `..` from a path (RFC 3986, 5.2.4).
    static let installation = TextFormat(
        "1 to \(ProviderServerLimits.identifierBytes) letters, digits and - _ .",
        pattern: "^(?!\\.{1,2}$)[A-Za-z0-9._-]{1,\(ProviderServerLimits.identifierBytes)}$",
        allows: InstallationDocument.isIdentifier)

    static let audienceName = TextFormat(
        "1 to \(ProviderServerLimits.audienceNameBytes) letters, digits and - _ .",
        pattern: "^(?!\\.{1,2}$)[A-Za-z0-9._-]{1,\(ProviderServerLimits.audienceNameBytes)}$",
        allows: AudienceReader.isName)

    static let deviceToken = TextFormat(
        "hexadecimal digits of 1 to \(DeviceToken.maximumBytes) bytes, two for each",
        pattern: "^(?:[0-9a-fA-F]{2}){1,\(DeviceToken.maximumBytes)}$"
    ) { DeviceToken($0) != nil }
}
