/// The host and the port of a URL or of a `Host` field: `uri-host [ ":" port ]` (RFC 9110, 4.2 and 7.2; RFC 3986, 3.2).
package struct HTTPAuthority: Sendable, Hashable {
    /// The host in lower case, an IPv6 address without its brackets. Empty if the text names none.
    package let host: String

    /// Reads a text; nil if it does not have this form. User information before the host is not allowed: it only misleads
    /// people (RFC 9110, 4.2.4).
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        let port: ArraySlice<UInt8>
        if bytes.first == UInt8(ascii: "[") {
            guard let end = bytes.firstIndex(of: UInt8(ascii: "]")), Self.isAddress(bytes[1..<end]) else { return nil }
            host = String(decoding: bytes[1..<end], as: UTF8.self).lowercased()
            port = bytes[(end + 1)...]
        } else {
            let name = bytes.prefix { $0 != UInt8(ascii: ":") }
            guard Self.isName(name) else { return nil }
            host = String(decoding: name, as: UTF8.self).lowercased()
            port = bytes[name.endIndex...]
        }
        guard port.isEmpty || Self.isPort(port) else { return nil }
    }

    /// Whether these are a colon and a port, which may be missing (RFC 3986, 3.2.3).
    private static func isPort(_ bytes: ArraySlice<UInt8>) -> Bool {
        let digits = bytes.dropFirst()
        return bytes.first == UInt8(ascii: ":") && digits.allSatisfy(Self.isDigit)
            && (digits.isEmpty || UInt16(String(decoding: digits, as: UTF8.self)) != nil)
    }

    /// Whether these are the characters of an IPv6 address. What they mean does not matter here.
    private static func isAddress(_ bytes: ArraySlice<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { isHexDigit($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") }
    }

    /// Whether these are the characters of a name: letters, digits, some signs, and others as `%` with two digits (RFC
    /// 3986, 3.2.2).
    private static func isName(_ bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard rest.count >= 2, rest.prefix(2).allSatisfy(isHexDigit) else { return false }
                rest = rest.dropFirst(2)
            } else {
                guard isDigit(byte) || isLetter(byte) || signs.contains(byte) else { return false }
            }
        }
        return true
    }

    private static let signs = Set("-._~!$&'()*+,;=".utf8)

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
    }
}
