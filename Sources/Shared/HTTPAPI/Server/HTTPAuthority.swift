/// The host and the port of a URL or of a `Host` field: `uri-host [ ":" port ]` (RFC 9110, 4.2 and 7.2; RFC 3986, 3.2).
package struct HTTPAuthority: Sendable, Hashable {
    /// The host in lower case, an IPv6 address without its brackets. Empty if the text names none.
    package let host: String
    /// Nil if the text has none, or a colon without one.
    package let port: UInt16?

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
        // A colon, and a port that may be missing (RFC 3986, 3.2.3).
        let digits = port.dropFirst()
        guard port.isEmpty || port.first == UInt8(ascii: ":"), digits.allSatisfy(Self.isDigit) else { return nil }
        self.port = UInt16(String(decoding: digits, as: UTF8.self))
        guard digits.isEmpty || self.port != nil else { return nil }
    }

    /// Whether both name the same host and port. Each may leave the scheme's usual port out (RFC 3986, 6.2.3).
    func isSame(as other: HTTPAuthority, scheme: String?) -> Bool {
        let usual: UInt16 = scheme == "http" ? 80 : 443
        return host == other.host && (port ?? usual) == (other.port ?? usual)
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
