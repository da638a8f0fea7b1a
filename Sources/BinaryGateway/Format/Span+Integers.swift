import Notifications

// All integers are in network byte order (Guide, 3.1.2). Only this file uses pointers.
extension Span<UInt8> {
    /// - Parameter offset: of the first of two bytes, both inside the span.
    func bigEndian16(at offset: Int) -> UInt16 {
        UInt16(self[offset]) << 8 | UInt16(self[offset + 1])
    }

    /// - Parameter offset: of the first of four bytes, all inside the span.
    func bigEndian32(at offset: Int) -> UInt32 {
        UInt32(bigEndian16(at: offset)) << 16 | UInt32(bigEndian16(at: offset + 2))
    }

    /// - Parameter range: of a device token's bytes, all inside the span.
    /// - Returns: Nil if no device token has this length.
    func deviceToken(at range: Range<Int>) -> DeviceToken? {
        let token = extracting(range)
        guard token.count == DeviceToken.byteCount else { return DeviceToken(token.array) }
        return DeviceToken(bytes: token.withUnsafeBytes { $0.loadUnaligned(as: SIMD32<UInt8>.self) })
    }
}
