/// A line of a batch that is no notification.
///
/// It is answered by what can be read of it: a line that was cut off, or is too long, mostly names its device token.
struct BadBatchLine: Error {
    let number: Int
    let token: String?
    let id: String?
    /// What is wrong with it, to follow "no notification:".
    let cause: String

    /// - Parameter text: the line, or its beginning.
    init(number: Int, _ text: ArraySlice<UInt8>, cause: String) {
        self.number = number
        self.cause = cause
        token = Self.value(of: "token", in: text)
        id = Self.value(of: "id", in: text)
    }

    /// The text without escapes that a dictionary has for a key, whatever comes behind it. The keys of dictionaries in
    /// it are not its own.
    private static func value(of key: String, in text: ArraySlice<UInt8>) -> String? {
        var depth = 0
        var rest = text
        while let byte = rest.first {
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: "\""):
                guard let name = takeString(from: &rest) else { return nil }
                guard depth == 1, name.elementsEqual(key.utf8) else { continue }
                rest = afterSpace(rest)
                // Text of this name, and not the name itself.
                guard rest.first == UInt8(ascii: ":") else { continue }
                rest = afterSpace(rest.dropFirst())
                guard rest.first == UInt8(ascii: "\""), let value = takeString(from: &rest), value.allSatisfy(isPlain)
                else { return nil }
                return String(decoding: value, as: UTF8.self)
            default: break
            }
            rest = rest.dropFirst()
        }
        return nil
    }

    /// Moves past a string.
    /// - Returns: What is between its quotation marks; nil where the second is missing.
    private static func takeString(from text: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let inside = text.dropFirst()
        var isEscaped = false
        for (index, byte) in zip(inside.indices, inside) {
            if byte == UInt8(ascii: "\""), !isEscaped {
                text = inside[(index + 1)...]
                return inside[..<index]
            }
            isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
        }
        return nil
    }

    private static func afterSpace(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        text.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0d }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x21...0x7e).contains(byte) && byte != UInt8(ascii: "\\")
    }
}
