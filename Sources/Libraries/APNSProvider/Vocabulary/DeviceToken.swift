import Notifications

/// The opaque bytes that name one app on one device. The app gets them when it registers, and hands them to its
/// provider (Guide, 2.1.4).
public struct DeviceToken: Sendable, Hashable, CustomStringConvertible {
    /// The largest accepted size, in bytes. Device tokens have 32 bytes today. Apple's documentation says not to
    /// assume a size, and tokens of 80 bytes have been seen. So the library has no smallest size either: which device
    /// tokens are good is for the service to say.
    public static let maximumBytes = Notifications.DeviceToken.lengths.upperBound

    /// The token as lower-case hexadecimal digits, two for each byte.
    public let hexadecimal: String

    /// Creates a device token from hexadecimal digits in either case.
    /// - Returns: nil unless there are two digits for each byte, and 1 to ``maximumBytes`` bytes.
    public init?(_ hexadecimal: String) {
        let digits = hexadecimal.utf8
        guard !digits.isEmpty, digits.count.isMultiple(of: 2), digits.count <= Self.maximumBytes * 2,
            digits.allSatisfy({ Hexadecimal.value(of: $0) != nil })
        else { return nil }
        self.hexadecimal = hexadecimal.lowercased()
    }

    /// Creates a device token from the bytes that the app gets from the system.
    /// - Returns: nil unless there are 1 to ``maximumBytes`` bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard (1...Self.maximumBytes).contains(bytes.count) else { return nil }
        hexadecimal = Hexadecimal.string(bytes)
    }

    /// The hexadecimal digits.
    public var description: String { hexadecimal }
}
