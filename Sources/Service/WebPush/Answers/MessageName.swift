package import Credentials
package import Delivery
package import Notifications
package import Trust

/// The name of a message in its URL, by which its sender can withdraw it (RFC 8030, 5 and 5.5). It is encrypted, so it does not
/// show the identifier that apps and logs have, nobody can make one, and all nodes can read it.
package struct MessageName: Sendable, Hashable {
    package var id: NotificationID
    package var destination: Destination

    /// The length of the text: 33 bytes, and 28 of the encryption, in base64url.
    static let textLength = 82

    /// What the encrypted value is, so that no other value of the same key can be taken for one.
    private static let purpose = "web push message"
    private static let byteCount = 33

    package init(_ id: NotificationID, to destination: Destination) {
        (self.id, self.destination) = (id, destination)
    }

    /// The text for a URL.
    package func text(_ seal: CredentialSeal) throws(TrustError) -> String {
        var bytes: [UInt8] = [destination.environment == .development ? 0 : 1]
        for value in [destination.device.rawValue, id.high, id.low] { bytes += Self.bytes(value) }
        for value in [destination.app.rawValue, destination.queue] { bytes += Self.bytes(value) }
        return String(decoding: Base64URL.encoded(try seal.seal(bytes, as: Self.purpose)), as: UTF8.self)
    }

    /// - Returns: nil if the text was not made by ``text(_:)`` under this key.
    package init?(_ text: String, _ seal: CredentialSeal) {
        guard let sealed = Base64URL.decoded(Array(text.utf8)[...], .token),
            let bytes = try? seal.open(sealed, as: Self.purpose), bytes.count == Self.byteCount
        else { return nil }
        func number<Number: FixedWidthInteger>(_ range: Range<Int>) -> Number {
            bytes[range].reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
        }
        id = NotificationID(high: number(9..<17), low: number(17..<25))
        destination = Destination(
            environment: bytes[0] == 0 ? .development : .production, device: DeviceID(rawValue: number(1..<9)),
            app: AppID(rawValue: number(25..<29)), queue: number(29..<33))
    }

    private static func bytes(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }
}
