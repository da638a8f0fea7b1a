/// `Authorization: Bearer KEY` (RFC 6750, 2.1). `ProviderTokenRules` reads provider tokens, and says what is wrong with them.
package enum BearerCredentials {
    private static let scheme = "bearer"

    /// - Parameter field: the value of `Authorization`.
    /// - Returns: what follows the scheme, which may be in any case (RFC 9110, 11.1), and blanks after it; nil for another scheme or for
    ///   nothing.
    package static func key(of field: String) -> Substring? {
        guard let blank = field.firstIndex(of: " "), field[..<blank].lowercased() == scheme else { return nil }
        let key = field[blank...].drop { $0 == " " }
        return key.isEmpty ? nil : key
    }
}
