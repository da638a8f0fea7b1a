import Notifications

// Reads integers, which are in network byte order (Guide, 3.1.2). No other file uses pointers.
extension Span<UInt8> {
    /// - Parameter offset: the offset of the first byte. Both bytes have to be inside the span.
    func bigEndian16(at offset: Int) -> UInt16 {
        UInt16(self[offset]) << 8 | UInt16(self[offset + 1])  // fits: a byte
    }

    /// - Parameter offset: the offset of the first byte. All four bytes have to be inside the span.
    func bigEndian32(at offset: Int) -> UInt32 {
        UInt32(bigEndian16(at: offset)) << 16 | UInt32(bigEndian16(at: offset + 2))
    }

    /// - Parameter range: the bytes of the device token. They have to be inside the span.
    /// - Returns: Nil if no device token has this length.
    func deviceToken(at range: Range<Int>) -> DeviceToken? {
        let token = extracting(range)
        guard token.count == DeviceToken.byteCount else { return DeviceToken(token.array) }
        return DeviceToken(bytes: token.withUnsafeBytes { $0.loadUnaligned(as: SIMD32<UInt8>.self) })
    }
}
