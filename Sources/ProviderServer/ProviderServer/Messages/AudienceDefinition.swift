import CampaignStore
import HTTPAPI
import Notifications

/// What a message says of its audience, or a saved audience says.
struct AudienceDefinition: Sendable {
    var audience = Audience()
    /// Values for single users or installations, by name. They come before the installation's own values.
    var ownValues: [ExactText: JSONMembers] = [:]
    /// The saved audience that the request names; nil if it names none, or if its conditions are part of `audience`.
    var saved: String?
    /// The broadcast channel that gets the message; nil if installations do.
    var channel: String?
}

// What the form of an audience does not say: expressions, values, and which members exclude each other.
extension AudienceDefinition {
    /// Reads the audience of a message.
    /// - Parameters:
    ///   - pointer: the place of the audience in the document.
    ///   - isStored: whether the message was accepted before.
    init(_ request: ProviderMessages.AudienceRequest, at pointer: String, isStored: Bool) throws(Problem) {
        try Self.checkIsNotEmpty(request.keys, at: pointer, ProviderMessages.AudienceRequest.form.schema.keys)
        try self.init(request.conditions, at: pointer, isStored: isStored)
        if request.channel != nil, let key = request.keys.first(where: { $0 != "channel" && $0 != "environment" }) {
            throw .invalid(
                pointer + "/" + key,
                "The value has to be missing if there is channel: the devices that subscribe to it are its audience.")
        }
        channel = request.channel
        saved = request.saved
        if let conditions = request.savedConditions {
            let saved = try AudienceDefinition(saved: conditions, at: pointer + "/saved", isStored: true)
            audience = audience.narrowed(by: saved.audience)
            ownValues.merge(saved.ownValues) { own, _ in own }
        }
    }

    /// Reads the conditions of an audience to be saved, or of a saved one.
    init(
        saved conditions: ProviderMessages.AudienceConditions,
        at pointer: String = "",
        isStored: Bool,
    ) throws(Problem) {
        try Self.checkIsNotEmpty(conditions.keys, at: pointer, ProviderMessages.AudienceConditions.form.schema.keys)
        try self.init(conditions, at: pointer, isStored: isStored)
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

    private init(
        _ conditions: ProviderMessages.AudienceConditions,
        at pointer: String,
        isStored: Bool,
    ) throws(Problem) {
        guard conditions.everybody ?? true else {
            throw .invalid(pointer + "/everybody", "The value has to be true.")
        }
        audience.installations = try Self.names(
            conditions.installations, "installation", at: pointer + "/installations", .installation, &ownValues)
        audience.users = try Self.names(conditions.users, "user", at: pointer + "/users", .shortLine, &ownValues)
        let tags = try Self.expression(conditions.tags, at: pointer + "/tags") { text throws(ExpressionFault) in
            try AudienceExpression(tags: text)
        }
        let expression = try Self.expression(conditions.expression, at: pointer + "/where") {
            text throws(ExpressionFault) in
            try AudienceExpression(text, services: AppService.names) { Self.moment($0, isStored: isStored) }
        }
        audience.expression = AudienceExpression.all(tags, expression)
        audience.language = conditions.language
        audience.environment = conditions.environment
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
            return try ProviderMessages.AudienceConditions.names(of: format).read(value, at: pointer)
        }
        let count = ProviderMessages.AudienceConditions.count
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

    private static func expression(
        _ text: String?,
        at pointer: String,
        _ read: (String) throws(ExpressionFault) -> AudienceExpression,
    ) throws(Problem) -> AudienceExpression? {
        guard let text else { return nil }
        do throws(ExpressionFault) {
            return try read(text)
        } catch {
            // fits: an offset in the text
            throw .invalid(pointer, "At character \(error.offset + 1): \(error.cause)")
        }
    }

    /// The longest time ago: some 1,900 years, which is before everything.
    private static let longestAgo = Duration.seconds(100_000 * 604_800)

    /// Reads a time, or how long ago it was; nil if the text is neither.
    private static func moment(_ text: String, isStored: Bool) -> AudienceExpression.Moment? {
        if let ago = Duration(iso8601: text, longest: longestAgo, allowsWeeks: true) { return .ago(ago) }
        // A date alone is its beginning in GMT.
        let time = Timestamp(text: text, isStored: isStored) ?? Timestamp(text: text + "T00:00:00Z", isStored: isStored)
        return time.map { .at($0) }
    }
}
