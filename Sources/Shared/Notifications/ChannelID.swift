/// Identifies a broadcast channel of an app in one environment: the value of `apns-channel-id` (docs/channels.md).
///
/// It is a Base64 text (RFC 4648, 4). Only the service can interpret the encoded bytes.
package struct ChannelID: RawRepresentable, Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The largest number of characters. The service's own have 24, and those that its clients know are of this kind.
    package static let maximumCount = 64

    package let rawValue: String

    /// - Returns: nil unless `rawValue` is one to ``maximumCount`` characters of base64 with its padding.
    package init?(rawValue: String) {
        let bytes = rawValue.utf8
        guard (4...Self.maximumCount).contains(bytes.count), bytes.count % 4 == 0 else { return nil }
        let padding = bytes.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding <= 2, bytes.dropLast(padding).allSatisfy(Self.isDigit) else { return nil }
        self.rawValue = rawValue
    }

    /// Makes a new identifier of 16 random bytes. Its text has neither a slash nor a plus sign, so that it can be a part
    /// of a path as it is.
    package static func random(using generator: inout some RandomNumberGenerator) -> ChannelID {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        // The last digit before the padding encodes two bits, and has four possible values.
        let last = Array("AQgw".utf8)
        var text = (0..<21).map { _ in digits[Int.random(in: 0..<digits.count, using: &generator)] }
        text.append(last[Int.random(in: 0..<last.count, using: &generator)])
        return ChannelID(known: String(decoding: text, as: UTF8.self) + "==")
    }

    private init(known text: String) { rawValue = text }

    package static func < (left: ChannelID, right: ChannelID) -> Bool {
        left.rawValue.utf8.lexicographicallyPrecedes(right.rawValue.utf8)
    }

    package var description: String { rawValue }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte.isLetterOrDigit || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/")
    }
}
