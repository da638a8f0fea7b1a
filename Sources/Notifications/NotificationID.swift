/// The `apns-id` of a notification: a canonical UUID.
package struct NotificationID: Sendable, Hashable, CustomStringConvertible {
    /// 8-4-4-4-12 digits and four hyphens.
    package static let textLength = 36

    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Makes a new version 4 UUID (RFC 9562, 5.4).
    package static func random(using generator: inout some RandomNumberGenerator) -> NotificationID {
        NotificationID(
            high: generator.next() & ~0xf000 | 0x4000,
            low: generator.next() & ~(0b11 << 62) | 0b10 << 62,
        )
    }

    /// Reads 32 hexadecimal digits in five groups, 8-4-4-4-12. The guide's canonical form has lower-case digits
    /// (Table 8-2); widely used clients send upper-case ones, so both are read.
    package init?(_ text: Span<UInt8>) {
        guard text.count == Self.textLength else { return nil }
        var words: (UInt64, UInt64) = (0, 0)
        var digits = 0
        for index in 0..<Self.textLength {
            if index == 8 || index == 13 || index == 18 || index == 23 {
                guard text[index] == UInt8(ascii: "-") else { return nil }
                continue
            }
            guard let value = Hexadecimal.value(of: text[index]) else { return nil }
            if digits < 16 {
                words.0 = words.0 << 4 | UInt64(value)
            } else {
                words.1 = words.1 << 4 | UInt64(value)
            }
            digits += 1
        }
        high = words.0
        low = words.1
    }

    package init?(_ text: String) {
        self.init(Array(text.utf8).span)
    }

    /// Calls `body` with each byte of the lower-case canonical form, in order.
    @inline(__always)
    package func forEachByte(_ body: (UInt8) -> Void) {
        for digit in 0..<32 {
            if digit == 8 || digit == 12 || digit == 16 || digit == 20 { body(UInt8(ascii: "-")) }
            let word = digit < 16 ? high : low
            let value = UInt8(truncatingIfNeeded: word >> UInt64(60 - (digit & 15) * 4)) & 0xf
            body(value < 10 ? 0x30 + value : 0x57 + value)
        }
    }

    /// Writes the lower-case canonical form over the first ``textLength`` bytes; nothing where there are fewer.
    package func write(over text: inout [UInt8]) {
        guard text.count >= Self.textLength else { return }
        var index = 0
        forEachByte {
            text[index] = $0
            index &+= 1
        }
    }

    /// The lower-case canonical form.
    package var utf8: [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(Self.textLength)
        forEachByte { text.append($0) }
        return text
    }

    package var description: String { String(decoding: utf8, as: UTF8.self) }
}
