import Notifications

// All data is in network order (Guide, 3.1.2). The pointers stay in this file.
extension Span<UInt8> {
    /// - Parameter offset: that of the first of two bytes that are there.
    func bigEndian16(at offset: Int) -> UInt16 {
        UInt16(self[offset]) << 8 | UInt16(self[offset + 1])
    }

    /// - Parameter offset: that of the first of four bytes that are there.
    func bigEndian32(at offset: Int) -> UInt32 {
        UInt32(bigEndian16(at: offset)) << 16 | UInt32(bigEndian16(at: offset + 2))
    }

    /// - Parameter range: that of a device token's bytes, which are all there.
    /// - Returns: nil if no device token has so many.
    func deviceToken(at range: Range<Int>) -> DeviceToken? {
        let token = extracting(range)
        guard token.count == DeviceToken.byteCount else { return DeviceToken(token.array) }
        return DeviceToken(bytes: token.withUnsafeBytes { $0.loadUnaligned(as: SIMD32<UInt8>.self) })
    }
}
