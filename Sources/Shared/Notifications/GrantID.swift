/// Names a grant: what one instance may send through the gateway (docs/gateway.md).
package struct GrantID: RawRepresentable, Sendable, Hashable, Comparable, CustomStringConvertible {
    private static let prefix = "g_"
    private static let digits = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
    /// 80 random bits, so that no two grants get the same.
    private static let digitCount = 16

    package let rawValue: String

    /// - Returns: nil unless `rawValue` is `g_` and 16 digits of base 32 (RFC 4648, 6) in lower case.
    package init?(rawValue: String) {
        let bytes = rawValue.utf8
        guard rawValue.hasPrefix(Self.prefix), bytes.count == Self.prefix.utf8.count + Self.digitCount,
            bytes.dropFirst(Self.prefix.utf8.count).allSatisfy(Self.digits.contains)
        else { return nil }
        self.rawValue = rawValue
    }

    package static func random(using generator: inout some RandomNumberGenerator) -> GrantID {
        let digits = (0..<digitCount).map { _ in Self.digits[Int.random(in: 0..<32, using: &generator)] }
        return GrantID(known: prefix + String(decoding: digits, as: UTF8.self))
    }

    private init(known text: String) { rawValue = text }

    package static func < (left: GrantID, right: GrantID) -> Bool { left.rawValue < right.rawValue }

    package var description: String { rawValue }
}
