/// A line of a batch that is not a notification.
///
/// The answer for such a line contains the device token, if the line has one. Even a line that was cut off or is too
/// long usually has it.
struct BadBatchLine: Error {
    let number: Int
    let token: String?
    let id: String?
    /// What is wrong with the line. It follows "Line 3 is not a notification:".
    let cause: String

    /// - Parameter text: the line, or its beginning.
    init(number: Int, _ text: ArraySlice<UInt8>, cause: String) {
        self.number = number
        self.cause = cause
        token = Self.value(of: "token", in: text)
        id = Self.value(of: "id", in: text)
    }

    /// The text that the outermost dictionary has for a key, if it contains no escapes. The rest of the line may be
    /// invalid.
    private static func value(of key: String, in text: ArraySlice<UInt8>) -> String? {
        var depth = 0
        var rest = text
        while let byte = rest.first {
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: "\""):
                guard let name = readString(from: &rest) else { return nil }
                guard depth == 1, name.elementsEqual(key.utf8) else { continue }
                rest = afterSpace(rest)
                // Skip texts that are values: only a key is followed by a colon.
                guard rest.first == UInt8(ascii: ":") else { continue }
                rest = afterSpace(rest.dropFirst())
                guard rest.first == UInt8(ascii: "\""), let value = readString(from: &rest), value.allSatisfy(isPlain)
                else { return nil }
                return String(decoding: value, as: UTF8.self)
            default: break
            }
            rest = rest.dropFirst()
        }
        return nil
    }

    /// Moves past a string.
    /// - Returns: the text between its quotation marks; nil if the second mark is missing.
    private static func readString(from text: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
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
