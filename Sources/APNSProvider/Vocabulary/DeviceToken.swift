import Notifications

/// The opaque bytes that name one app on one device: what the app got when it registered, and handed to its provider
/// (Guide, 2.1.4).
public struct DeviceToken: Sendable, Hashable, CustomStringConvertible {
    /// In bytes. A device token has 32 today; "do not assume a size", Apple says, and tokens of 80 have been seen.
    public static let maximumBytes = 100

    /// Lower-case hexadecimal digits, two a byte.
    public let hexadecimal: String

    /// Takes the token as hexadecimal digits in either case.
    /// - Returns: nil unless these are two digits a byte, of 1 to ``maximumBytes`` bytes.
    public init?(_ hexadecimal: String) {
        let digits = hexadecimal.utf8
        guard !digits.isEmpty, digits.count.isMultiple(of: 2), digits.count <= Self.maximumBytes * 2,
            digits.allSatisfy({ Hexadecimal.value(of: $0) != nil })
        else { return nil }
        self.hexadecimal = hexadecimal.lowercased()
    }

    /// Takes the token as the app gets it from the system.
    /// - Returns: nil unless there are 1 to ``maximumBytes`` bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard (1...Self.maximumBytes).contains(bytes.count) else { return nil }
        hexadecimal = Hexadecimal.string(bytes)
    }

    /// The hexadecimal digits.
    public var description: String { hexadecimal }
}
