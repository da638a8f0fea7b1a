package import NIOCore

/// A range of IP addresses, written as `192.0.2.0/24`, `2001:db8::/32`, or as one address.
package struct AddressRange: Sendable, Hashable, CustomStringConvertible {
    private let prefix: [UInt8]
    private let bits: Int
    /// As it was written.
    package let description: String

    /// - Returns: Nil if the text is not a range, or if an address has bits beyond the prefix, which is a mistake.
    package init?(_ text: String) {
        description = text
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let bytes = String(parts[0]).socketAddress()?.addressBytes else {
            return nil
        }
        let all = bytes.count * 8
        guard parts.count == 2 else {
            (prefix, bits) = (bytes, all)
            return
        }
        guard parts[1].utf8.allSatisfy({ (48...57).contains($0) }), let length = Int(parts[1]),
            (0...all).contains(length)
        else { return nil }
        (prefix, bits) = (bytes, length)
        guard Self.masked(bytes, length) == bytes else { return nil }
    }

    package func contains(_ address: SocketAddress) -> Bool {
        guard let bytes = address.addressBytes, bytes.count == prefix.count else { return false }
        return Self.masked(bytes, bits) == prefix
    }

    private static func masked(_ bytes: [UInt8], _ bits: Int) -> [UInt8] {
        bytes.enumerated().map { index, byte in
            let kept = min(8, max(0, bits - index * 8))
            return byte & ~UInt8(truncatingIfNeeded: 0xff >> kept)
        }
    }
}
