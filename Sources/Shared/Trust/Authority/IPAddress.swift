import Notifications

/// An IP address in the form of a certificate: 4 or 16 bytes.
struct IPAddress: Sendable, Hashable {
    let bytes: [UInt8]

    /// - Parameter text: an IPv4 address of four decimal numbers, or an IPv6 address (RFC 4291, 2.2) with no zone and
    ///   no brackets.
    init?(_ text: String) {
        let read = text.utf8.contains(UInt8(ascii: ":")) ? Self.version6(Array(text.utf8)) : Self.version4(text.utf8)
        guard let read else { return nil }
        bytes = read
    }

    private static func version4(_ text: some Collection<UInt8>) -> [UInt8]? {
        let parts = text.split(separator: UInt8(ascii: "."), maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var bytes: [UInt8] = []
        for part in parts {
            // Some programs read a number with a leading zero as octal.
            guard (1...3).contains(part.count), part.count == 1 || part.first != UInt8(ascii: "0") else { return nil }
            var value = 0
            for digit in part {
                guard (0x30...0x39).contains(digit) else { return nil }
                value = value * 10 + Int(digit - 0x30)  // fits: at most three digits
            }
            guard let byte = UInt8(exactly: value) else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    private static func version6(_ text: [UInt8]) -> [UInt8]? {
        // The longest form: eight groups of four digits, or six and an IPv4 address.
        guard text.count <= 45 else { return nil }
        let colon = UInt8(ascii: ":")
        guard let gap = text.indices.dropLast().first(where: { text[$0] == colon && text[$0 + 1] == colon }) else {
            guard let bytes = groups(text[...], mayEndInVersion4: true), bytes.count == 16 else { return nil }
            return bytes
        }
        guard let head = groups(text[..<gap], mayEndInVersion4: false),
            let tail = groups(text[(gap + 2)...], mayEndInVersion4: true),
            head.count + tail.count <= 14
        else { return nil }
        return head + [UInt8](repeating: 0, count: 16 - head.count - tail.count) + tail
    }

    /// Two bytes for each group; empty for an empty text.
    private static func groups(_ text: ArraySlice<UInt8>, mayEndInVersion4: Bool) -> [UInt8]? {
        guard !text.isEmpty else { return [] }
        let parts = text.split(separator: UInt8(ascii: ":"), maxSplits: 8, omittingEmptySubsequences: false)
        var bytes: [UInt8] = []
        for (index, part) in parts.enumerated() {
            if mayEndInVersion4, index == parts.count - 1, part.contains(UInt8(ascii: ".")) {
                guard let address = version4(part) else { return nil }
                return bytes + address
            }
            guard (1...4).contains(part.count) else { return nil }
            var value: UInt16 = 0
            for digit in part {
                guard let nibble = Hexadecimal.value(of: digit) else { return nil }
                value = value << 4 | UInt16(nibble)  // fits: at most four digits
            }
            bytes += [UInt8(value >> 8), UInt8(value & 0xff)]  // fits: eight bits each
        }
        return bytes
    }
}
