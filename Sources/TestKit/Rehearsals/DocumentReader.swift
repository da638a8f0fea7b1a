import Matching
import Notifications

/// Reads an object of a rehearsal's document.
typealias DocumentReader = JSONReader<MatchError>

extension JSONReader where Fault == MatchError {
    /// - Parameter keys: the keys that the object may have; nil for any.
    init(_ value: JSONValue, at pointer: String, keys: [String]?) throws(MatchError) {
        try self.init(value, at: pointer, keys: keys, nullIsMissing: false)
    }

    /// Checks that the value of a key is true.
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
}
