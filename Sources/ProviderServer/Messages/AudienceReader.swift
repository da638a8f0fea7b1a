import Notifications
import ProviderStore

/// Reads the audience of a message.
enum AudienceReader {
    private static let keys = ["everybody", "installations", "users", "tags", "language", "environment"]

    /// - Returns: The audience, and the values that it gives to named recipients.
    static func read(_ value: JSONValue) throws(APIProblem) -> (Audience, [String: [String: JSONValue]]) {
        let reader = try DocumentReader(value, at: "/audience", keys: keys)
        // An empty audience is an error: a message to everybody has to say so, because a forgotten key must not reach a
        // million people.
        guard !reader.members.isEmpty else {
            throw .invalid("/audience", "The audience takes \(keys.joined(separator: ", ")).")
        }
        if let everybody = try reader.boolean("everybody"), !everybody { throw reader.fault("everybody", "true") }
        var audience = Audience()
        var own: [String: [String: JSONValue]] = [:]
        audience.installations = try names(
            "installations", reader, &own, "the identifier of an installation", InstallationDocument.isIdentifier)
        audience.users = try names("users", reader, &own, "the name of a user") {
            (1...ProviderServerLimits.nameBytes).contains($0.utf8.count) && DocumentReader.isLine($0)
        }
        audience.tags = try tags(reader)
        audience.language = try reader.text("language", maximum: ProviderServerLimits.languageBytes)
            .map { (text) throws(APIProblem) in
                guard InstallationDocument.isLanguage(text) else {
                    throw reader.fault("language", "the tag of a language, such as sv")
                }
                return text.lowercased()
            }
        audience.environment = try reader.environment("environment")
        return (audience, own)
    }

    /// Reads a list of names, or an object that has values for each name.
    private static func names(
        _ key: String,
        _ reader: DocumentReader,
        _ own: inout [String: [String: JSONValue]],
        _ allowed: String,
        _ isAllowed: (String) -> Bool,
    ) throws(APIProblem) -> [String]? {
        let count = 1...ProviderServerLimits.namedRecipients
        guard case .object? = reader.members[key] else {
            return try reader.list(key, count: count, of: allowed, isAllowed)
        }
        guard let values = try reader.object(key, keys: nil) else { return nil }
        guard count.contains(values.members.count) else {
            throw reader.fault(key, "an object of \(count.lowerBound) to \(count.upperBound) members")
        }
        for name in values.members.keys.sorted() {
            guard isAllowed(name) else { throw .invalid(values.place(name), "The name has to be \(allowed).") }
            guard let value = try values.object(name, keys: nil) else { continue }
            own["\(key.dropLast()) \(name)"] = try TemplateValues.read(value)
        }
        return values.members.keys.sorted()
    }

    private static func tags(_ reader: DocumentReader) throws(APIProblem) -> TagExpression? {
        guard let text = try reader.text("tags", maximum: TagExpression.maximumBytes) else { return nil }
        do throws(TagExpression.Fault) {
            return try TagExpression(text)
        } catch {
            throw .invalid(reader.place("tags"), "At character \(error.offset + 1): \(error.cause)")
        }
    }
}
