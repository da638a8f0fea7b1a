import HTTPAPI
import Notifications

/// Reads a JSON object of a request.
typealias DocumentReader = JSONReader<Problem>

extension JSONReader where Fault == Problem {
    /// - Parameter keys: the keys that the object may have; nil for any. A key with the value null counts as missing.
    init(_ value: JSONValue, at pointer: String, keys: [String]?) throws(Problem) {
        try self.init(value, at: pointer, keys: keys, nullIsMissing: true)
    }

    /// Reads the value of a key.
    func read<Value>(_ key: String, _ form: JSONForm<Value>) throws(Problem) -> Value? {
        guard let value = members[key] else { return nil }
        return try form.read(value, at: place(key), nullIsMissing: true)
    }

    func object(_ key: String, keys: [String]?) throws(Problem) -> DocumentReader? {
        guard let value = members[key] else { return nil }
        return try DocumentReader(value, at: place(key), keys: keys)
    }
}
