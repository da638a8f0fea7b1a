import Matching
import Notifications

/// Reads an object of a rehearsal's document. The error has the place of the first fault and says what is allowed
/// there.
struct DocumentReader {
    let members: [String: JSONValue]
    /// The place of the object in the document (RFC 6901).
    let pointer: String

    /// - Parameter keys: the keys that the object may have.
    init(_ value: JSONValue, at pointer: String, keys: [String]) throws(MatchError) {
        guard case .object(let members) = value else {
            throw MatchError(pointer, "The value is of the type \(value.typeName); it has to be an object.")
        }
        for name in members.keys.sorted() where !keys.contains(name) {
            throw MatchError(
                "\(pointer)/\(Self.escaped(name))",
                "The key is unknown; the object takes \(keys.joined(separator: ", ")).")
        }
        self.members = members
        self.pointer = pointer
    }

    func place(_ key: String) -> String { pointer + "/" + key }

    func fault(_ key: String, _ allowed: String) -> MatchError {
        MatchError(place(key), "The value has to be \(allowed).")
    }

    func required(_ key: String) throws(MatchError) -> JSONValue {
        guard let value = members[key] else { throw MatchError(pointer, "The key \(key) is missing.") }
        return value
    }

    func text(_ key: String) throws(MatchError) -> String? {
        guard let value = members[key] else { return nil }
        guard case .string(let text) = value else { throw wrongType(key, value, "a string") }
        return text
    }

    func integer(_ key: String, _ range: ClosedRange<Int64>) throws(MatchError) -> Int64? {
        guard let value = members[key] else { return nil }
        guard case .integer(let number) = value else { throw wrongType(key, value, "an integer") }
        guard range.contains(number) else { throw fault(key, "from \(range.lowerBound) to \(range.upperBound)") }
        return number
    }

    /// Reads a key that must be true or missing.
    /// - Returns: whether it is true.
    func isOn(_ key: String) throws(MatchError) {
        guard members[key] == .bool(true) else { throw fault(key, "true") }
    }

    func duration(_ key: String, upTo limit: Duration, allowsZero: Bool = false) throws(MatchError) -> Duration? {
        guard let value = members[key] else { return nil }
        return try Self.duration(value, at: place(key), upTo: limit, allowsZero: allowsZero)
    }

    static func duration(
        _ value: JSONValue,
        at pointer: String,
        upTo limit: Duration,
        allowsZero: Bool = false,
    ) throws(MatchError) -> Duration {
        let least = allowsZero ? "from 0" : "more than 0"
        let allowed = "a duration of ISO 8601 such as PT0.5S, \(least) and up to \(limit.components.seconds) seconds"
        guard case .string(let text) = value, let duration = Duration(iso8601: text), duration <= limit,
            allowsZero || duration > .zero
        else { throw MatchError(pointer, "The value has to be \(allowed).") }
        return duration
    }

    func choice<Value>(
        _ key: String,
        _ choices: [String],
        _ make: (String) -> Value?,
    ) throws(MatchError) -> Value? {
        guard let text = try text(key) else { return nil }
        guard let value = make(text) else { throw fault(key, "one of \(choices.joined(separator: ", "))") }
        return value
    }

    private func wrongType(_ key: String, _ value: JSONValue, _ allowed: String) -> MatchError {
        MatchError(place(key), "The value is of the type \(value.typeName); it has to be \(allowed).")
    }

    /// The key, escaped for a JSON pointer (RFC 6901, 3).
    private static func escaped(_ name: String) -> String {
        name.split(separator: "~", omittingEmptySubsequences: false).joined(separator: "~0")
            .split(separator: "/", omittingEmptySubsequences: false).joined(separator: "~1")
    }
}
