import Notifications

/// Writes JSON without white space (Guide, 2.2.1: omit it).
struct JSONWriter {
    private(set) var bytes: [UInt8] = []
    private var needsComma = false

    mutating func open() {
        bytes.append(UInt8(ascii: "{"))
        needsComma = false
    }

    mutating func close() {
        bytes.append(UInt8(ascii: "}"))
        needsComma = true
    }

    /// Writes a key. The caller writes the value next.
    mutating func key(_ key: String) {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        bytes.append(contentsOf: JSONString.quoted(key).utf8)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    mutating func string(_ text: String) {
        bytes.append(contentsOf: JSONString.quoted(text).utf8)
        needsComma = true
    }

    /// Writes a key and a text. Writes nothing if the text is nil.
    mutating func field(_ name: String, _ text: String?) {
        guard let text else { return }
        key(name)
        string(text)
    }

    mutating func field(_ name: String, _ number: Int) {
        raw(name, Array(String(number).utf8))
    }

    /// Writes a key and a fraction. The payload's checks have already refused numbers that JSON cannot hold, such as
    /// NaN.
    mutating func field(_ name: String, _ number: Double) {
        let whole = Int(exactly: number)
        raw(name, Array((whole.map(String.init) ?? "\(number)").utf8))
    }

    mutating func field(_ name: String, _ texts: [String]?) {
        guard let texts else { return }
        raw(name, Array("[\(texts.map(JSONString.quoted).joined(separator: ","))]".utf8))
    }

    /// Writes the caller's own keys in alphabetical order.
    /// - Throws: ``ProviderError/Code/badNotification`` if a property already writes one of the keys, or if a number
    ///   cannot be written in JSON.
    mutating func fields(
        _ values: [String: JSONValue],
        besides keys: Set<String>,
        of place: String,
    ) throws(ProviderError) {
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            guard !keys.contains(name) else {
                throw ProviderError(.badNotification, "The key \(name) of \(place) has its own property; use that.")
            }
            raw(name, try PushPayload.encode(value))
        }
    }

    /// Writes a key and a value that is already JSON.
    mutating func raw(_ name: String, _ json: [UInt8]) {
        key(name)
        bytes.append(contentsOf: json)
        needsComma = true
    }
}
