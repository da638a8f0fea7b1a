/// Names a device within its environment. The service chooses it at random when the device activates.
package struct DeviceID: RawRepresentable, Sendable, Hashable, Comparable, CustomStringConvertible {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    // Written by hand for the reason in `AppID`.
    package static func == (left: DeviceID, right: DeviceID) -> Bool { left.rawValue == right.rawValue }
    package func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }

    /// The order of lists: the same as that of the hexadecimal digits.
    package static func < (left: DeviceID, right: DeviceID) -> Bool { left.rawValue < right.rawValue }

    /// - Parameter text: 16 hexadecimal digits.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count == 16, text.utf8.allSatisfy({ Hexadecimal.value(of: $0) != nil }),
            let value = UInt64(text, radix: 16)
        else { return nil }
        rawValue = value
    }

    /// 16 hexadecimal digits.
    package var description: String {
        withUnsafeBytes(of: rawValue.bigEndian) { Hexadecimal.string($0) }
    }
}
