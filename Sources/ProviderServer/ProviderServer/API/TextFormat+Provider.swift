import APNSProvider
import CampaignStore
import HTTPAPI
import Notifications

// The forms of texts in the provider server's API.
extension TextFormat {
    /// Clients remove the segments `.` and `..` from a path (RFC 3986, 5.2.4), so nobody could ask for an installation with
    /// such a name.
    static let installation = name(maximumBytes: ProviderServerLimits.identifierBytes)

    static let audienceName = name(maximumBytes: ProviderServerLimits.audienceNameBytes)

    private static func name(maximumBytes: Int) -> TextFormat {
        TextFormat(
            "1 to \(maximumBytes) letters, digits, hyphens, underscores and periods",
            pattern: "^(?!\\.{1,2}$)[A-Za-z0-9._-]{1,\(maximumBytes)}$"
        ) { $0.isName(maximumBytes: maximumBytes) && $0 != "." && $0 != ".." }
    }

    static let language = TextFormat(
        "the tag of a language, such as sv-SE", pattern: "^[A-Za-z0-9_-]{1,\(ProviderServerLimits.languageBytes)}$"
    ) { $0.utf8.count <= ProviderServerLimits.languageBytes && Installation.isLanguage($0) }

    static let tag = TextFormat(
        "a tag: 1 to \(Installation.maximumTagBytes) letters, digits and _ - . : @ #",
        pattern: "^[A-Za-z0-9_.:@#-]{1,\(Installation.maximumTagBytes)}$", allows: Installation.isTag)

    /// The name of a user, the version of an app, and the like.
    static let shortLine = line(maximumBytes: ProviderServerLimits.nameBytes)

    /// A time. Its reader parses it.
    static let timeText = upTo(bytes: 40)

    static let deviceToken = TextFormat(
        "hexadecimal digits of 1 to \(DeviceToken.maximumBytes) bytes, two for each",
        pattern: "^(?:[0-9a-fA-F]{2}){1,\(DeviceToken.maximumBytes)}$"
    ) { DeviceToken($0) != nil }

    /// The identifier of a message, a hook or another thing that the server named.
    static let identifier = line(maximumBytes: 64)

    static let channel = line(maximumBytes: 128)
}
