/// Opaque bytes that name one app on one device in one environment; only the service can read them (Guide, 2.1.4).
///
/// Here it is just the bytes. What they mean is `Trust`'s to know.
package struct DeviceToken: Sendable, Hashable, CustomStringConvertible {
    /// In bytes, of most device tokens. The binary API has room for exactly so many (Guide, Table A-3).
    package static let byteCount = 32

    /// In bytes. The HTTP/2 API leaves the length open, and "Do not hard-code their size" (Guide, 2.1.4.4); tokens
    /// of 80 bytes have been seen.
    package static let lengths = 32...100

    /// The first bytes as they lie in memory. A vector would be aligned to its own 32 bytes, and with it everything that holds
    /// a device token: memory so aligned is found by `malloc` at several times the cost.
    private let words: Words
    /// Those after them; none, and no memory, as a rule.
    private let rest: [UInt8]

    private struct Words: Hashable {
        var first, second, third, fourth: UInt64
    }

    package init(bytes: SIMD32<UInt8>) { self.init(bytes, rest: []) }

    private init(_ bytes: SIMD32<UInt8>, rest: [UInt8]) {
        words = unsafeBitCast(bytes, to: Words.self)
        self.rest = rest
    }

    /// The first ``byteCount`` bytes.
    package var bytes: SIMD32<UInt8> { unsafeBitCast(words, to: SIMD32<UInt8>.self) }

    /// In bytes, of this one.
    package var count: Int { Self.byteCount + rest.count }

    /// - Returns: nil unless the number of bytes is one of ``lengths``.
    package init?(_ collection: some Collection<UInt8>) {
        guard Self.lengths.contains(collection.count) else { return nil }
        self.init(
            SIMD32(collection.prefix(Self.byteCount)), rest: Array(collection.dropFirst(Self.byteCount)))
    }

    /// - Parameter digits: hexadecimal digits in either case, two a byte (Guide, Table 8-1).
    /// - Returns: nil unless their number is twice one of ``lengths``.
    package init?(hexadecimal digits: Span<UInt8>) {
        guard digits.count.isMultiple(of: 2), Self.lengths.contains(digits.count / 2) else { return nil }
        var bytes = SIMD32<UInt8>()
        var rest = [UInt8](repeating: 0, count: digits.count / 2 - Self.byteCount)
        let isGood = digits.withUnsafeBufferPointer { digits in
            withUnsafeMutableBytes(of: &bytes) { Hexadecimal.read(digits, into: $0) }
                && rest.withUnsafeMutableBytes {
                    Hexadecimal.read(UnsafeBufferPointer(rebasing: digits[(2 * Self.byteCount)...]), into: $0)
                }
        }
        guard isGood else { return nil }
        self.init(bytes, rest: rest)
    }

    /// - Parameter text: as in ``init(hexadecimal:)``.
    package init?(_ text: String) {
        self.init(hexadecimal: Array(text.utf8).span)
    }

    /// The bytes in order.
    package var array: [UInt8] { (0..<Self.byteCount).map { bytes[$0] } + rest }

    /// Two lower-case hexadecimal digits a byte.
    package var description: String { Hexadecimal.string(array) }
}
