import HTTPAPI
import Notifications
import CampaignStore

/// An audience as a request describes it.
struct AudienceDocument: Sendable {
    var audience = Audience()
    /// Values for single users or installations, by name. They come before the installation's own values.
    var ownValues: [ExactText: JSONMembers] = [:]
    /// The saved audience that the request names; nil if it names none, or if its conditions are part of `audience`.
    var saved: String?
    /// The broadcast channel that gets the message; nil if installations do.
    var channel: String?
}

/// Reads the audience of a message, or one to be saved.
enum AudienceReader {
    private static let members: [Schema.Member] = [
        .optional("everybody", .boolean, "true"),
        .optional("installations", .any, "Identifiers, or an object with values for each."),
        .optional("users", .any, "Users, or an object with values for each."),
        .optional("tags", tagsForm.schema, "An expression such as (news && sv) && !muted."),
        .optional(
            "where", whereForm.schema,
            "An expression such as appVersion >= 2.1 and not (language = sv or points > 5)."),
        .optional("language", .string(.language), "The first language of the installation."),
        .optional("environment", .string(.environment)),
    ]
    private static let tagsForm = JSONForm<String>.text(.upTo(bytes: TagExpression.maximumBytes))
    private static let whereForm = JSONForm<String>.text(.upTo(bytes: AudienceExpression.maximumBytes))
    private static let channel = JSONForm<String>.text(.line(maximumBytes: 128))
    private static let conditions = members.map(\.name)

    static let schema = Schema.named(
        "Audience",
        .object(
            members + [
                .optional("saved", .string(.audienceName), "A saved audience, whose conditions have to be met too."),
                .optional("channel", channel.schema, "A broadcast channel. Only environment may be beside it."),
            ]))
    /// An audience to be saved.
    static let savedSchema = Schema.named(
        "AudienceRequest", .object(members + [.optional("bundleID", .string(.bundleID))]))

    /// Where an audience is read.
    enum Place {
        /// In a message. The audience may name a saved one, which has conditions as well.
        case message
        /// In a stored message. There, the conditions of the saved audience replace its name, so that a change of the
        /// saved audience does not change a message that was accepted.
        case stored
        /// By itself, to be saved. The keys in `extra` are not conditions.
        case saved(extra: [String])
        /// The conditions of a saved audience, which were checked before.
        case storedConditions

        fileprivate var pointer: String {
            switch self {
            case .message, .stored: "/audience"
            case .saved, .storedConditions: ""
            }
        }

        fileprivate var isStored: Bool {
            switch self {
            case .message, .saved: false
            case .stored, .storedConditions: true
            }
        }
    }

    static func read(_ value: JSONValue, _ place: Place) throws(Problem) -> AudienceDocument {
        try read(value, place, at: place.pointer)
    }

    private static func read(
        _ value: JSONValue,
        _ place: Place,
        at pointer: String,
    ) throws(Problem) -> AudienceDocument {
        var (keys, extra) = (conditions, [String]())
        switch place {
        case .message, .stored: keys += ["saved", "channel"]
        case .saved(let names): extra = names
        case .storedConditions: break
        }
        let reader = try DocumentReader(value, at: pointer, keys: keys + extra)
        // An empty audience is an error: a message to everybody has to say so, because a forgotten key must not reach a
        // million people.
        guard reader.members.keys.contains(where: { !extra.contains($0) }) else {
            throw .invalid(pointer, "The audience takes \(keys.joined(separator: ", ")).")
        }
        guard try reader.read("everybody", .boolean) ?? true else { throw reader.fault("everybody", "true") }
        var document = AudienceDocument()
        document.channel = try reader.read("channel", channel)
        if document.channel != nil,
            let key = reader.members.keys.first(where: { $0 != "channel" && $0 != "environment" })
        {
            throw reader.fault(key, "missing if there is channel: the devices that subscribe to it are its audience")
        }
        document.audience.installations = try names("installations", reader, &document.ownValues, .installation)
        document.audience.users = try names("users", reader, &document.ownValues, .shortLine)
        document.audience.tags = try tags(reader)
        document.audience.expression = try expression(reader, isStored: place.isStored)
        document.audience.language = try reader.read("language", .text(.language))?.lowercased()
        document.audience.environment = try reader.environment("environment")
        if case .stored = place, let value = reader.members["saved"] {
            let saved = try read(value, .storedConditions, at: reader.place("saved"))
            document.audience = document.audience.narrowed(by: saved.audience)
            document.ownValues.merge(saved.ownValues) { own, _ in own }
        } else {
            document.saved = try reader.read("saved", .text(.upTo(bytes: ProviderServerLimits.audienceNameBytes)))
        }
        return document
    }

    /// Whether a saved audience may have this name.
    static func isName(_ text: String) -> Bool {
        text.utf8.count <= ProviderServerLimits.audienceNameBytes && InstallationDocument.isIdentifier(text)
    }

    /// Reads a list of names, or an object that has values for each name.
    private static func names(
        _ key: String,
        _ reader: DocumentReader,
        _ own: inout [ExactText: JSONMembers],
        _ format: TextFormat,
    ) throws(Problem) -> [String]? {
        let count = 1...ProviderServerLimits.namedRecipients
        guard case .object? = reader.members[key] else {
            return try reader.read(key, .list(of: .text(format), from: count.lowerBound, to: count.upperBound))
        }
        guard let values = try reader.object(key, keys: nil) else { return nil }
        guard count.contains(values.members.count) else {
            throw reader.fault(key, "an object of \(count.lowerBound) to \(count.upperBound) members")
        }
        for name in values.members.keys {
            guard format.allows(name) else { throw .invalid(values.place(name), "The name has to be \(format.name).") }
            guard let value = try values.object(name, keys: nil) else { continue }
            own[ExactText("\(key.dropLast()) \(name)")] = try TemplateValues.read(value)
        }
        return values.members.keys
    }

    /// The longest time ago: some 1,900 years, which is before everything.
    private static let longestAgo = Duration.seconds(100_000 * 604_800)

    private static func expression(
        _ reader: DocumentReader,
        isStored: Bool,
    ) throws(Problem) -> AudienceExpression? {
        guard let text = try reader.read("where", whereForm) else { return nil }
        do throws(AudienceExpression.Fault) {
            return try AudienceExpression(text, services: AppService.names) { text in
                if let ago = Duration(iso8601: text, longest: longestAgo, allowsWeeks: true) { return .ago(ago) }
                // A date alone is its beginning in GMT.
                let time =
                    Timestamp(text: text, isStored: isStored)
                    ?? Timestamp(text: text + "T00:00:00Z", isStored: isStored)
                return time.map { .at($0) }
            }
        } catch {
            // fits: an offset in the text
            throw .invalid(reader.place("where"), "At character \(error.offset + 1): \(error.cause)")
        }
    }

    private static func tags(_ reader: DocumentReader) throws(Problem) -> TagExpression? {
        guard let text = try reader.read("tags", tagsForm) else { return nil }
        do throws(TagExpression.Fault) {
            return try TagExpression(text)
        } catch {
            // fits: an offset in the text
            throw .invalid(reader.place("tags"), "At character \(error.offset + 1): \(error.cause)")
        }
    }
}
