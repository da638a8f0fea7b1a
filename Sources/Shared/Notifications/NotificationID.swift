/// The `apns-id` of a notification: a canonical UUID.
///
/// The value is the number. It also remembers which digits were capital letters, because the answer gives the text back
/// as it came (Guide, Table 8-3).
package struct NotificationID: Sendable, Hashable, CustomStringConvertible {
    /// The length of the text: 32 digits and four hyphens.
    package static let textLength = 36

    package let high: UInt64
    package let low: UInt64
    /// Which of the 32 digits were capital letters in the provider's text. The lowest bit is the first digit.
    package let capitals: UInt32

    package init(high: UInt64, low: UInt64, capitals: UInt32 = 0) {
        self.high = high
        self.low = low
        self.capitals = capitals
    }

    package var hasCapitals: Bool { capitals != 0 }

    package static func == (left: NotificationID, right: NotificationID) -> Bool {
        left.high == right.high && left.low == right.low
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(high)
        hasher.combine(low)
    }

    /// Makes a new version 4 UUID (RFC 9562, 5.4).
    package static func random(using generator: inout some RandomNumberGenerator) -> NotificationID {
        NotificationID(
            high: generator.next() & ~0xf000 | 0x4000,
            low: generator.next() & ~(0b11 << 62) | 0b10 << 62,
        )
    }

    /// Reads 32 hexadecimal digits in groups of 8-4-4-4-12. The Guide's canonical form has lower-case digits (Table
    /// 8-2). Widely used clients send upper-case ones, so both are accepted.
    package init?(_ text: Span<UInt8>) {
        guard text.count == Self.textLength else { return nil }
        for index in 0..<Self.textLength where Self.isHyphen(index) && text[index] != UInt8(ascii: "-") { return nil }
        // Each group of eight digits, without the hyphens.
        let words = text.withUnsafeBytes { text in
            func word<Word: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _: Word.Type) -> UInt64 {
                UInt64(truncatingIfNeeded: text.loadUnaligned(fromByteOffset: offset, as: Word.self).bigEndian)
            }
            return (
                word(0, UInt64.self), word(9, UInt32.self) << 32 | word(14, UInt32.self),
                word(19, UInt32.self) << 32 | word(24, UInt32.self), word(28, UInt64.self)
            )
        }
        guard let first = Hexadecimal.number(words.0), let second = Hexadecimal.number(words.1),
            let third = Hexadecimal.number(words.2), let fourth = Hexadecimal.number(words.3)
        else { return nil }
        self.init(
            // fits: 32 bits each
            high: UInt64(first) << 32 | UInt64(second), low: UInt64(third) << 32 | UInt64(fourth),
            capitals: Hexadecimal.capitals(words.0) | Hexadecimal.capitals(words.1) << 8
                | Hexadecimal.capitals(words.2) << 16 | Hexadecimal.capitals(words.3) << 24)
    }

    package init?(_ text: String) {
        self.init(Array(text.utf8).span)
    }

    private static func isHyphen(_ index: Int) -> Bool { index == 8 || index == 13 || index == 18 || index == 23 }

    /// The lower-case canonical form. It is an array without allocation, because every answer and every line contains
    /// it.
    package var text: InlineArray<36, UInt8> {
        let digits = (
            Hexadecimal.digits(UInt32(truncatingIfNeeded: high >> 32)),
            Hexadecimal.digits(UInt32(truncatingIfNeeded: high)),
            Hexadecimal.digits(UInt32(truncatingIfNeeded: low >> 32)),
            Hexadecimal.digits(UInt32(truncatingIfNeeded: low))
        )
        var text = InlineArray<36, UInt8>(repeating: UInt8(ascii: "-"))
        withUnsafeMutableBytes(of: &text) { text in
            text.storeBytes(of: digits.0.bigEndian, toByteOffset: 0, as: UInt64.self)
            text.storeBytes(of: UInt32(truncatingIfNeeded: digits.1 >> 32).bigEndian, toByteOffset: 9, as: UInt32.self)
            text.storeBytes(of: UInt32(truncatingIfNeeded: digits.1).bigEndian, toByteOffset: 14, as: UInt32.self)
            text.storeBytes(of: UInt32(truncatingIfNeeded: digits.2 >> 32).bigEndian, toByteOffset: 19, as: UInt32.self)
            text.storeBytes(of: UInt32(truncatingIfNeeded: digits.2).bigEndian, toByteOffset: 24, as: UInt32.self)
            text.storeBytes(of: digits.3.bigEndian, toByteOffset: 28, as: UInt64.self)
        }
        return text
    }

    /// The text as it was read, with its capital letters.
    package var textAsSent: InlineArray<36, UInt8> {
        guard capitals != 0 else { return text }
        var text = text
        var digit: UInt32 = 0
        for index in 0..<Self.textLength where !Self.isHyphen(index) {
            if capitals >> digit & 1 == 1 { text[index] &= ~0x20 }
            digit &+= 1
        }
        return text
    }

    package var description: String { text.span.text }
}
