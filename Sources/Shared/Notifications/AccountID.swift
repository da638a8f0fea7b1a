/// The identifier of a team or of a key. The developer account assigns ten capital letters and digits (Guide, 2.3.1). The
/// tests of client libraries use others as well, so the service accepts them unless its conformance is `strict`.
package protocol AccountID: RawRepresentable, Sendable, Hashable, CustomStringConvertible
where RawValue == String {
    /// Takes a text that was checked before.
    init(checked: String)
}

extension AccountID {
    /// - Returns: nil unless `rawValue` has 1 to 64 characters of A–Z, a–z, 0–9, the hyphen and the underscore.
    package init?(rawValue: String) {
        guard (1...AccountIDs.maximumCount).contains(rawValue.utf8.count),
            rawValue.utf8.allSatisfy({ $0.isLetterOrDigit || "-_".utf8.contains($0) })
        else { return nil }
        self.init(checked: rawValue)
    }

    /// Whether a developer account could have assigned it: ten characters of A–Z and 0–9.
    package var isAssigned: Bool {
        rawValue.utf8.count == AccountIDs.assignedCount && rawValue.utf8.allSatisfy(AccountIDs.alphabet.contains)
    }

    /// Makes a new random identifier.
    package static func random(using generator: inout some RandomNumberGenerator) -> Self {
        let digits = (0..<AccountIDs.assignedCount).map { _ in
            AccountIDs.alphabet[Int.random(in: 0..<AccountIDs.alphabet.count, using: &generator)]
        }
        return Self(checked: String(decoding: digits, as: UTF8.self))
    }

    package var description: String { rawValue }
}

/// What all such identifiers have in common.
package enum AccountIDs {
    /// Describes the form in error messages, after the words "has to be".
    package static let form = "1 to 64 letters, digits, hyphens and underscores"

    static let maximumCount = 64
    static let assignedCount = 10
    static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".utf8)
}

/// Names a team: the `iss` of its provider tokens.
package struct TeamID: AccountID {
    package let rawValue: String
    package init(checked: String) { rawValue = checked }
}

/// Names a signing key of a team: the `kid` of the provider tokens signed with it.
package struct KeyID: AccountID {
    package let rawValue: String
    package init(checked: String) { rawValue = checked }
}
