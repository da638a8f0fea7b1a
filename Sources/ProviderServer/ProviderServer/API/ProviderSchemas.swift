import APNSProvider
import HTTPAPI
import Notifications

/// The forms of answers that have no type of their own.
enum ProviderSchemas {
    private static let text = Schema.string(.any)
    private static let count = Schema.integer(0...Int64.max)

    static let status = Schema.named("Status", .object([.required("status", text)]))

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
