import HTTPAPI
import Notifications

/// Reads a JSON object of a request.
typealias DocumentReader = JSONReader<Problem>

extension JSONReader where Fault == Problem {
    /// - Parameter keys: the keys that the object may have; nil for any. A key with the value null counts as missing.
    init(_ value: JSONValue, at pointer: String, keys: [String]?) throws(Problem) {
        try self.init(value, at: pointer, keys: keys, nullIsMissing: true)
    }

    /// Reads the members of a form that the object has among others.
    func members<Value>(of form: JSONForm<Value>) throws(Problem) -> Value {
        let keys = form.schema.keys
        return try form.read(.object(members.filter { keys.contains($0.key) }), at: pointer)
    }

    /// Reads a text of 1 to `maximum` bytes without control characters.
    func line(_ key: String, maximum: Int) throws(Problem) -> String? {
        guard let text = try text(key, maximum: maximum) else { return nil }
        guard !text.isEmpty, Self.isLine(text) else {
            throw fault(key, "1 to \(maximum) bytes without control characters")
        }
        return text
    }

    /// Reads a text of up to `maximum` bytes.
    func text(_ key: String, maximum: Int) throws(Problem) -> String? {
        guard let text = try text(key) else { return nil }
        guard text.utf8.count <= maximum else { throw fault(key, "at most \(maximum) bytes") }
        return text
    }

    func boolean(_ key: String) throws(Problem) -> Bool? {
        guard let value = members[key] else { return nil }
        guard case .bool(let isOn) = value else { throw wrongType(key, value, "true or false") }
        return isOn
    }

    func environment(_ key: String) throws(Problem) -> Environment? {
        guard let text = try text(key, maximum: 20) else { return nil }
        guard let environment = Environment(rawValue: text) else { throw fault(key, "development or production") }
        return environment
    }

    func object(_ key: String, keys: [String]?) throws(Problem) -> DocumentReader? {
        guard let value = members[key] else { return nil }
        return try DocumentReader(value, at: place(key), keys: keys)
    }

    /// Reads a list of texts.
    /// - Parameter isAllowed: returns whether one text is valid. If it is not, the error contains `allowed`.
    func list(
        _ key: String,
        count: ClosedRange<Int>,
        of allowed: String,
        _ isAllowed: (String) -> Bool,
    ) throws(Problem) -> [String]? {
        guard let value = members[key] else { return nil }
        guard case .array(let values) = value else { throw wrongType(key, value, "an array") }
        guard count.contains(values.count) else {
            throw fault(key, "a list of \(count.lowerBound) to \(count.upperBound) elements")
        }
        var texts: [String] = []
        for (index, value) in values.enumerated() {
            guard case .string(let text) = value, isAllowed(text) else {
                throw .invalid("\(place(key))/\(index)", "The value has to be \(allowed).")
            }
            texts.append(text)
        }
        return texts
    }

    /// Whether a text contains no control characters. They could change a terminal, or break a file of lines.
    static func isLine(_ text: String) -> Bool {
        !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }
}
