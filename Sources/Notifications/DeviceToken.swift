/// Opaque bytes that name one app on one device in one environment; only the service can read them (Guide, 2.1.4).
///
/// Here it is just the bytes. What they mean is `Trust`'s to know.
package struct DeviceToken: Sendable, Hashable, CustomStringConvertible {
    /// In bytes. The HTTP/2 API leaves the length open; the binary API has room for exactly 32 (Guide, Table A-3).
    package static let byteCount = 32

    /// The bytes as they lie in memory. A vector would be aligned to its own 32 bytes, and with it everything that holds a
    /// device token: memory so aligned is found by `malloc` at several times the cost.
    private let words: Words

    private struct Words: Hashable {
        var first, second, third, fourth: UInt64
    }

    package init(bytes: SIMD32<UInt8>) { words = unsafeBitCast(bytes, to: Words.self) }

    package var bytes: SIMD32<UInt8> { unsafeBitCast(words, to: SIMD32<UInt8>.self) }

    /// - Returns: nil unless there are exactly ``byteCount`` bytes.
    package init?(_ collection: some Collection<UInt8>) {
        guard collection.count == Self.byteCount else { return nil }
        self.init(bytes: SIMD32(collection))
    }

    /// - Parameter digits: hexadecimal digits in either case, two a byte (Guide, Table 8-1).
    /// - Returns: nil unless there are exactly 64 of them.
    package init?(hexadecimal digits: Span<UInt8>) {
        guard digits.count == Self.byteCount * 2 else { return nil }
        var bytes = SIMD32<UInt8>()
        let isGood = digits.withUnsafeBufferPointer { digits in
            withUnsafeMutableBytes(of: &bytes) { Hexadecimal.read(digits, into: $0) }
        }
        guard isGood else { return nil }
        self.init(bytes: bytes)
    }

    /// - Parameter text: as in ``init(hexadecimal:)``.
    package init?(_ text: String) {
        self.init(hexadecimal: Array(text.utf8).span)
    }

    /// The bytes in order.
    package var array: [UInt8] { (0..<Self.byteCount).map { bytes[$0] } }

    /// 64 lower-case hexadecimal digits.
    package var description: String { Hexadecimal.string(array) }
}
