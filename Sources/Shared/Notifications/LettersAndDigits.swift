extension UInt8 {
    /// Whether the byte is an ASCII letter or digit. Inlinable, because the topic of each notification is checked.
    @inlinable package var isLetterOrDigit: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        default: false
        }
    }
}

extension String {
    /// Whether the text is 1 to `maximumBytes` ASCII letters, digits, hyphens, underscores and periods.
    @inlinable package func isName(maximumBytes: Int) -> Bool {
        (1...maximumBytes).contains(utf8.count)
            && utf8.allSatisfy {
                $0.isLetterOrDigit || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
            }
    }
}
