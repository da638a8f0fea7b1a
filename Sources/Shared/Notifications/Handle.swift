/// 32 opaque bytes that stand for a device token, for one app, environment and grant (docs/gateway.md).
///
/// It has the length of a device token, so that every client library takes it for one. A request has it in its path.
package struct Handle: Sendable, Hashable, CustomStringConvertible {
    package static let byteCount = DeviceToken.byteCount

    package let bytes: [UInt8]

    /// - Returns: nil unless there are ``byteCount`` bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// - Parameter text: 64 hexadecimal digits in upper or lower case.
    package init?(_ text: String) {
        guard text.utf8.count == Self.byteCount * 2, let bytes = Hexadecimal.bytes(text) else { return nil }
        self.init(bytes)
    }

    /// 64 hexadecimal digits in lower case.
    package var description: String { Hexadecimal.string(bytes) }
}
