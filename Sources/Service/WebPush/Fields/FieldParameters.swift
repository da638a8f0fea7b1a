/// The parameters of a header field, as Web Push's fields have them: `salt=…;rs=4096, keyid=a;dh=…`. Entries are separated by
/// commas, and the parameters of an entry by semicolons (RFC 8188's drafts, 3 and 4).
///
/// A value is a token or a quoted string. Blanks are allowed around all of them, and there may be nothing between two commas or
/// semicolons (RFC 9110, 5.6.1.2 and 5.6.6). Names are compared without regard to case.
package struct FieldParameters: Sendable, Hashable {
    /// One parameter, with its name in lower case.
    package struct Parameter: Sendable, Hashable {
        package var name: String
        package var value: String
    }

    /// The entries in their order, each with its parameters in their order. None is empty.
    package private(set) var entries: [[Parameter]] = []

    /// The largest number of parameters in one field. Senders use up to five.
    package static let maximumParameters = 32

    /// - Returns: nil if the text does not have this form or has no parameter, if a name is twice in one entry, or if there are more than
    ///   ``maximumParameters``.
    package init?(_ text: String) {
        var reader = Reader(Array(text.utf8))
        var count = 0
        while true {
            var entry: [Parameter] = []
            repeat {
                count += 1
                guard count <= Self.maximumParameters else { return nil }
                if reader.isAtSeparator { continue }
                guard let parameter = reader.parameter(), !entry.contains(where: { $0.name == parameter.name }) else {
                    return nil
                }
                entry.append(parameter)
            } while reader.take(UInt8(ascii: ";"))
            if !entry.isEmpty { entries.append(entry) }
            if reader.take(UInt8(ascii: ",")) { continue }
            guard reader.isAtEnd, !entries.isEmpty else { return nil }
            return
        }
    }

    package static func value(_ name: String, in entry: [Parameter]) -> String? {
        entry.first { $0.name == name }?.value
    }
}

extension FieldParameters {
    private struct Reader {
        private let bytes: [UInt8]
        private var index = 0

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        var isAtEnd: Bool { index == bytes.count }

        /// Whether there is no parameter before the next comma, semicolon or the end.
        var isAtSeparator: Bool {
            mutating get {
                skipBlanks()
                return isAtEnd || [UInt8(ascii: ","), UInt8(ascii: ";")].contains(bytes[index])
            }
        }

        private mutating func skipBlanks() {
            while index < bytes.count, bytes[index] == 0x20 || bytes[index] == 0x09 { index += 1 }
        }

        mutating func take(_ byte: UInt8) -> Bool {
            skipBlanks()
            guard index < bytes.count, bytes[index] == byte else { return false }
            index += 1
            return true
        }

        mutating func parameter() -> Parameter? {
            skipBlanks()
            let name = word()
            guard !name.isEmpty, take(UInt8(ascii: "=")) else { return nil }
            skipBlanks()
            let value: [UInt8]
            if index < bytes.count, bytes[index] == UInt8(ascii: "\"") {
                guard let quoted = quoted() else { return nil }
                value = quoted
            } else {
                value = word(orPadding: true)
                guard !value.isEmpty else { return nil }
            }
            skipBlanks()
            return Parameter(
                name: String(decoding: name, as: UTF8.self).lowercased(), value: String(decoding: value, as: UTF8.self))
        }

        /// A token (RFC 9110, 5.6.2), in a value also with the characters of base64.
        private mutating func word(orPadding: Bool = false) -> [UInt8] {
            let start = index
            while index < bytes.count, Self.isTokenCharacter(bytes[index], orPadding: orPadding) { index += 1 }
            return Array(bytes[start..<index])
        }

        private static let others = Set("!#$%&'*+-.^_`|~".utf8)

        private static func isTokenCharacter(_ byte: UInt8, orPadding: Bool) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            case UInt8(ascii: "="), UInt8(ascii: "/"): orPadding
            default: others.contains(byte)
            }
        }

        /// A quoted string (RFC 9110, 5.6.4), without its quotes.
        private mutating func quoted() -> [UInt8]? {
            index += 1
            var value: [UInt8] = []
            while index < bytes.count {
                var byte = bytes[index]
                index += 1
                if byte == UInt8(ascii: "\"") { return value }
                if byte == UInt8(ascii: "\\") {
                    guard index < bytes.count else { return nil }
                    byte = bytes[index]
                    index += 1
                }
                value.append(byte)
            }
            return nil
        }
    }
}
