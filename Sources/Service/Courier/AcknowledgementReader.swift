import Delivery

/// Parses an acknowledgement, `{"sendings":[n,…]}`, and nothing else. One comes with every notification, so nothing
/// but the numbers is allocated.
struct AcknowledgementReader: ~Copyable {
    /// The largest number of acknowledged attempts in one line: no device can have more notifications and broadcasts
    /// unacknowledged.
    static let maximumCount = DeliveryLimits.mostUnacknowledged + ChannelLimits.mostUnacknowledged

    private var index = 0

    /// - Returns: nil if the body does not have this form, or if a number is not a whole number up to 2^53.
    static func read(_ body: Span<UInt8>) -> [UInt64]? {
        var reader = AcknowledgementReader()
        return reader.read(body)
    }

    private mutating func read(_ body: Span<UInt8>) -> [UInt64]? {
        guard skip("{", body), skip("\"sendings\"", body), skip(":", body), skip("[", body) else { return nil }
        var numbers: [UInt64] = []
        if !skip("]", body) {
            repeat {
                guard let number = number(body), numbers.count < Self.maximumCount else { return nil }
                numbers.append(number)
            } while skip(",", body)
            guard skip("]", body) else { return nil }
        }
        guard skip("}", body) else { return nil }
        skipSpace(body)
        return index == body.count ? numbers : nil
    }

    /// Returns the index after JSON's white space (RFC 8259, 2) that begins at `start`.
    static func endOfSpace(_ body: Span<UInt8>, from start: Int = 0) -> Int {
        var index = start
        while index < body.count, [0x20, 0x0a, 0x0d, 0x09].contains(body[index]) { index += 1 }
        return index
    }

    private mutating func skipSpace(_ body: Span<UInt8>) {
        index = Self.endOfSpace(body, from: index)
    }

    private mutating func skip(_ word: StaticString, _ body: Span<UInt8>) -> Bool {
        skipSpace(body)
        let count = word.utf8CodeUnitCount
        guard body.count - index >= count else { return false }
        let start = index
        let isEqual = word.withUTF8Buffer { letters in
            for offset in 0..<count where letters[offset] != body[start + offset] { return false }
            return true
        }
        if isEqual { index += count }
        return isEqual
    }

    private mutating func number(_ body: Span<UInt8>) -> UInt64? {
        skipSpace(body)
        let start = index
        var value: UInt64 = 0
        while index < body.count, index - start <= 16 {
            let digit = body[index] &- UInt8(ascii: "0")
            guard digit <= 9 else { break }
            value = value * 10 + UInt64(digit)  // fits: at most 17 digits
            index += 1
        }
        return index > start && value <= 1 << 53 ? value : nil
    }
}
