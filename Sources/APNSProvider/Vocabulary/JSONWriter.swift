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

    /// A key, whose value follows.
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

    /// A key and text; nothing where the text is nil.
    mutating func field(_ name: String, _ text: String?) {
        guard let text else { return }
        key(name)
        string(text)
    }

    mutating func field(_ name: String, _ number: Int) {
        raw(name, Array(String(number).utf8))
    }

    /// A fraction. What is no number cannot be written; the rules refuse it before.
    mutating func field(_ name: String, _ number: Double) {
        let whole = Int(exactly: number)
        raw(name, Array((whole.map(String.init) ?? "\(number)").utf8))
    }

    mutating func field(_ name: String, _ texts: [String]?) {
        guard let texts else { return }
        raw(name, Array("[\(texts.map(JSONString.quoted).joined(separator: ","))]".utf8))
    }

    /// Keys of the caller's, in the order of the alphabet.
    /// - Throws: ``ProviderError/Code/badNotification`` for a key that has a property of its own, and for a number that JSON
    ///   cannot write.
    mutating func fields(
        _ values: [String: JSONValue],
        besides keys: Set<String>,
        of place: String,
    ) throws(ProviderError) {
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            guard !keys.contains(name) else {
                throw ProviderError(.badNotification, "The key \(name) of \(place) has a property of its own.")
            }
            raw(name, try PushPayload.encode(value))
        }
    }

    /// A key and a value that is JSON already.
    mutating func raw(_ name: String, _ json: [UInt8]) {
        key(name)
        bytes.append(contentsOf: json)
        needsComma = true
    }
}
