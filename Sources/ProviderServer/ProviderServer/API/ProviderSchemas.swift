import APNSProvider
import CampaignStore
import HTTPAPI
import Notifications

/// The schemas of what has no form: an answer of one of two types.
enum ProviderSchemas {
    /// The answer to a request that waited for the end of a message, or to a dry run.
    static let messageOrDryRun = Schema.named("MessageOrDryRun", .openObject)
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
        "1 to \(ProviderServerLimits.identifierBytes) letters, digits, hyphens, underscores and periods",
        pattern: "^(?!\\.{1,2}$)[A-Za-z0-9._-]{1,\(ProviderServerLimits.identifierBytes)}$",
        allows: InstallationDocument.isIdentifier)

    static let audienceName = TextFormat(
        "1 to \(ProviderServerLimits.audienceNameBytes) letters, digits, hyphens, underscores and periods",
        pattern: "^(?!\\.{1,2}$)[A-Za-z0-9._-]{1,\(ProviderServerLimits.audienceNameBytes)}$",
        allows: AudienceReader.isName)

    static let language = TextFormat(
        "the tag of a language, such as sv-SE", pattern: "^[A-Za-z0-9_-]{1,\(ProviderServerLimits.languageBytes)}$",
        allows: InstallationDocument.isLanguage)

    static let tag = TextFormat(
        "a tag: 1 to \(TagExpression.maximumTagBytes) letters, digits and _ - . : @ #",
        pattern: "^[A-Za-z0-9_.:@#-]{1,\(TagExpression.maximumTagBytes)}$", allows: TagExpression.isTag)

    /// The name of a user, the version of an app, and the like.
    static let shortLine = line(maximumBytes: ProviderServerLimits.nameBytes)

    /// A time. Its reader parses it.
    static let timeText = upTo(bytes: 40)

    static let deviceToken = TextFormat(
        "hexadecimal digits of 1 to \(DeviceToken.maximumBytes) bytes, two for each",
        pattern: "^(?:[0-9a-fA-F]{2}){1,\(DeviceToken.maximumBytes)}$"
    ) { DeviceToken($0) != nil }
}
