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

    /// A key and a value that is JSON already.
    mutating func raw(_ name: String, _ json: [UInt8]) {
        key(name)
        bytes.append(contentsOf: json)
        needsComma = true
    }
}
