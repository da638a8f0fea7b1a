/// An identifier of ten capital letters and digits, as the developer account assigns them (Guide, 2.3.1).
package protocol TenCharacterID: RawRepresentable, Sendable, Hashable, CustomStringConvertible
where RawValue == String {
    /// Takes a text that was checked before.
    init(checked: String)
}

extension TenCharacterID {
    /// - Returns: nil unless `rawValue` has exactly ten characters of A–Z and 0–9.
    package init?(rawValue: String) {
        guard rawValue.utf8.count == TenCharacters.count, rawValue.utf8.allSatisfy(TenCharacters.allows) else {
            return nil
        }
        self.init(checked: rawValue)
    }

    /// Makes a new random identifier.
    package static func random(using generator: inout some RandomNumberGenerator) -> Self {
        let digits = (0..<TenCharacters.count).map { _ in
            TenCharacters.alphabet[Int.random(in: 0..<TenCharacters.alphabet.count, using: &generator)]
        }
        return Self(checked: String(decoding: digits, as: UTF8.self))
    }

    package var description: String { rawValue }
}

private enum TenCharacters {
    static let count = 10
    static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".utf8)

    static func allows(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}

/// Names a team: the `iss` of its provider tokens.
package struct TeamID: TenCharacterID {
    package let rawValue: String
    package init(checked: String) { rawValue = checked }
}

/// Names a signing key of a team: the `kid` of the provider tokens signed with it.
package struct KeyID: TenCharacterID {
    package let rawValue: String
    package init(checked: String) { rawValue = checked }
}
