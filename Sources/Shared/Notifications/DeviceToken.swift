/// Opaque bytes that stand for one app on one device in one environment. Only the service can interpret them (Guide,
/// 2.1.4).
///
/// This type contains only the bytes. `Trust` knows their meaning.
package struct DeviceToken: Sendable, Hashable, CustomStringConvertible {
    /// The length of most device tokens, in bytes. The binary API's format has room for exactly this many (Guide, Table
    ///
    package static let byteCount = 32

    /// The lengths that a device token may have, in bytes. The Guide says "Do not hard-code their size" (2.1.4.4), and
    /// tokens of 80 bytes have been seen. This service never makes shorter ones than ``byteCount``. `APNSProvider` accepts
    /// shorter ones, because it also sends to other services.
    package static let lengths = byteCount...100

    /// The first 32 bytes. They are not stored as a vector: a vector is aligned to 32 bytes, and so is every type that
    /// contains it. `malloc` takes several times as long for memory with that alignment.
    private let words: Words
    /// The bytes after the first 32. Empty, without an allocation, for most tokens.
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

    /// The length of this token, in bytes.
    package var count: Int { Self.byteCount + rest.count }

    /// - Returns: nil unless the number of bytes is one of ``lengths``.
    package init?(_ collection: some Collection<UInt8>) {
        guard Self.lengths.contains(collection.count) else { return nil }
        self.init(
            SIMD32(collection.prefix(Self.byteCount)), rest: Array(collection.dropFirst(Self.byteCount)))
    }

    /// - Parameter digits: hexadecimal digits in upper or lower case, two for each byte (Guide, Table 8-1).
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
    package var array: [UInt8] {
        var array: [UInt8] = []
        array.reserveCapacity(Self.byteCount + rest.count)
        for index in 0..<Self.byteCount { array.append(bytes[index]) }
        array += rest
        return array
    }

    /// Lower-case hexadecimal digits, two for each byte.
    package var description: String { Hexadecimal.string(array) }
}
