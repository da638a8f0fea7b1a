/// The bytes that names and values may have (RFC 9113, 8.2.1, with the definitions of RFC 9110, 5.1 and 5.5).
enum FieldCharacters {
    /// The bytes of `tchar` without upper-case letters, one bit each: "!#$%&'*+-.^_`|~", digits and letters.
    private static let nameLow: UInt64 = mask("!#$%&'*+-.0123456789", from: 0)
    private static let nameHigh: UInt64 = mask("^_`abcdefghijklmnopqrstuvwxyz|~", from: 64)

    /// The letters A to Z. The small letters are 32 bits higher.
    private static let capitals: UInt64 = mask("ABCDEFGHIJKLMNOPQRSTUVWXYZ", from: 64)
    private static let schemeLow: UInt64 = mask("+-.0123456789", from: 0)

    /// The bytes of `authority` (RFC 3986, 3.2), one bit each.
    private static let authorityLow: UInt64 = mask("!$%&'()*+,-.0123456789:;=", from: 0)
    private static let authorityHigh: UInt64 = mask(
        "@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]_abcdefghijklmnopqrstuvwxyz~", from: 64)

    private static func mask(_ characters: StaticString, from first: UInt8) -> UInt64 {
        var bytes: [UInt8] = []
        bytes.append(literal: characters)
        return bytes.reduce(0) { $0 | 1 << UInt64($1 - first) }  // fits: characters of ours, from `first` on
    }

    /// Whether all bytes of a regular field's name are allowed.
    static func areValidInName(_ name: Span<UInt8>) -> Bool {
        !name.isEmpty && areAll(name, low: nameLow, high: nameHigh)
    }

    /// Whether the method is a token (RFC 9110, 9.1).
    static func areValidInMethod(_ method: Span<UInt8>) -> Bool {
        !method.isEmpty && areAll(method, low: nameLow, high: nameHigh | capitals)
    }

    /// Whether the scheme is a letter, and then letters, digits, "+", "-" or "." (RFC 3986, 3.1).
    static func areValidInScheme(_ scheme: Span<UInt8>) -> Bool {
        guard !scheme.isEmpty, areAll(scheme.extracting(..<1), low: 0, high: capitals | capitals << 32) else {
            return false
        }
        return areAll(scheme, low: schemeLow, high: capitals | capitals << 32)
    }

    /// Whether all bytes of an authority are allowed (RFC 3986, 3.2).
    static func areValidInAuthority(_ authority: Span<UInt8>) -> Bool {
        areAll(authority, low: authorityLow, high: authorityHigh)
    }

    /// Whether there is no blank. Other controls were excluded before.
    static func areVisible(_ path: Span<UInt8>) -> Bool {
        // Without branches the compiler compares many bytes at once.
        var blanks: UInt8 = 0
        for index in path.indices { blanks |= (path[index] == 0x20 ? 1 : 0) | (path[index] == 0x09 ? 1 : 0) }
        return blanks == 0
    }

    /// Whether all bytes are in a set of bits.
    private static func areAll(_ text: Span<UInt8>, low: UInt64, high: UInt64) -> Bool {
        for index in text.indices {
            let byte = text[index]
            let bits = byte < 64 ? low : byte < 128 ? high : 0
            if bits >> UInt64(byte & 63) & 1 == 0 { return false }  // fits: less than 64
        }
        return true
    }

    /// Whether all bytes of a value are allowed: visible characters, blanks, and bytes from 0x80 on.
    static func areValidInValue(_ value: Span<UInt8>) -> Bool {
        // Without branches the compiler compares many bytes at once.
        var invalid: UInt8 = 0
        for index in value.indices {
            let byte = value[index]
            invalid |= (byte < 0x20 ? 1 : 0) & (byte != 0x09 ? 1 : 0) | (byte == 0x7f ? 1 : 0)
        }
        return invalid == 0
    }

    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
