import CampaignStore
import HTTPAPI
import Notifications

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

/// Reads what an audience's form alone does not say: expressions, values, and which members exclude each other.
enum AudienceReader {
    /// Reads the audience of a message.
    /// - Parameters:
    ///   - pointer: the place of the audience in the document.
    ///   - isStored: whether the message was accepted before.
    static func read(
        _ request: AudienceRequest,
        at pointer: String,
        isStored: Bool,
    ) throws(Problem) -> AudienceDocument {
        try checkIsNotEmpty(request.keys, at: pointer, AudienceRequest.form.schema.keys)
        var document = try read(request.conditions, at: pointer, isStored: isStored)
        if request.channel != nil, let key = request.keys.first(where: { $0 != "channel" && $0 != "environment" }) {
            throw .invalid(
                pointer + "/" + key,
                "The value has to be missing if there is channel: the devices that subscribe to it are its audience.")
        }
        document.channel = request.channel
        document.saved = request.saved
        if let conditions = request.savedConditions {
            let saved = try read(saved: conditions, at: pointer + "/saved", isStored: true)
            document.audience = document.audience.narrowed(by: saved.audience)
            document.ownValues.merge(saved.ownValues) { own, _ in own }
        }
        return document
    }

    /// Reads the conditions of an audience to be saved, or of a saved one.
    static func read(
        saved conditions: AudienceRequest.Conditions,
        at pointer: String = "",
        isStored: Bool,
    ) throws(Problem) -> AudienceDocument {
        try checkIsNotEmpty(conditions.keys, at: pointer, AudienceRequest.Conditions.form.schema.keys)
        return try read(conditions, at: pointer, isStored: isStored)
    }

    /// An empty audience is an error: a message to everybody has to say so, because a forgotten key must not reach a
    /// million people.
    private static func checkIsNotEmpty(
        _ keys: [String],
        at pointer: String,
        _ allowed: [String],
    ) throws(Problem) {
        guard !keys.isEmpty else {
            throw .invalid(pointer, "The audience takes \(allowed.joined(separator: ", ")).")
        }
    }

    private static func read(
        _ conditions: AudienceRequest.Conditions,
        at pointer: String,
        isStored: Bool,
    ) throws(Problem) -> AudienceDocument {
        guard conditions.everybody ?? true else {
            throw .invalid(pointer + "/everybody", "The value has to be true.")
        }
        var document = AudienceDocument()
        document.audience.installations = try names(
            conditions.installations, "installation", at: pointer + "/installations", .installation,
            &document.ownValues)
        document.audience.users = try names(
            conditions.users, "user", at: pointer + "/users", .shortLine, &document.ownValues)
        document.audience.tags = try tags(conditions.tags, at: pointer + "/tags")
        document.audience.expression = try expression(
            conditions.expression, at: pointer + "/where", isStored: isStored)
        document.audience.language = conditions.language?.lowercased()
        document.audience.environment = conditions.environment.flatMap(Environment.init(rawValue:))
        return document
    }

    /// Whether a saved audience may have this name.
    static func isName(_ text: String) -> Bool {
        text.utf8.count <= ProviderServerLimits.audienceNameBytes && InstallationDocument.isIdentifier(text)
    }

    /// Reads a list of names, or an object that has values for each name.
    /// - Parameter kind: what the names are of.
    private static func names(
        _ value: JSONValue?,
        _ kind: String,
        at pointer: String,
        _ format: TextFormat,
        _ own: inout [ExactText: JSONMembers],
    ) throws(Problem) -> [String]? {
        guard let value else { return nil }
        guard case .object = value else {
            return try AudienceRequest.Conditions.names(of: format).read(value, at: pointer)
        }
        let count = AudienceRequest.Conditions.count
        let values = try DocumentReader(value, at: pointer, keys: nil)
        guard count.contains(values.members.count) else {
            throw .invalid(
                pointer, "The value has to be an object of \(count.lowerBound) to \(count.upperBound) members.")
        }
        for name in values.members.keys {
            guard format.allows(name) else { throw .invalid(values.place(name), "The name has to be \(format.name).") }
            guard let value = try values.object(name, keys: nil) else { continue }
            own[ExactText("\(kind) \(name)")] = try TemplateValues.read(value)
        }
        return values.members.keys
    }

    /// The longest time ago: some 1,900 years, which is before everything.
    private static let longestAgo = Duration.seconds(100_000 * 604_800)

    private static func expression(
        _ text: String?,
        at pointer: String,
        isStored: Bool,
    ) throws(Problem) -> AudienceExpression? {
        guard let text else { return nil }
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
            throw .invalid(pointer, "At character \(error.offset + 1): \(error.cause)")
        }
    }

    private static func tags(_ text: String?, at pointer: String) throws(Problem) -> TagExpression? {
        guard let text else { return nil }
        do throws(TagExpression.Fault) {
            return try TagExpression(text)
        } catch {
            // fits: an offset in the text
            throw .invalid(pointer, "At character \(error.offset + 1): \(error.cause)")
        }
    }
}
