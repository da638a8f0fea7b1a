/// The serial number of a certificate of the service's authority. Revocations name certificates by it.
package struct CertificateSerial: Sendable, Hashable, CustomStringConvertible {
    /// The size in bytes. RFC 5280, 4.1.2.2, allows up to 20.
    package static let byteCount = 16

    private let high: UInt64
    private let low: UInt64

    /// A new serial number of 126 random bits. The first byte is 0x40 to 0x7f, so that the number is positive and
    /// always has 16 bytes.
    package static func random(using generator: inout some RandomNumberGenerator) -> CertificateSerial {
        CertificateSerial(high: generator.next() & ~(0b11 << 62) | 0b01 << 62, low: generator.next())
    }

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// - Parameter bytes: as the certificate has them, the highest first.
    /// - Returns: nil unless the authority could have given out this number.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        let word = { (bytes: any Sequence<UInt8>) in bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
        self.init(high: word(bytes.prefix(8)), low: word(bytes.suffix(8)))
        guard mayBeIssued else { return nil }
    }

    /// Whether the authority could have given out this number. A number that a person typed may be another one. Stores
    /// cannot read such a number back.
    package var mayBeIssued: Bool { high >> 62 == 0b01 }

    /// - Parameter text: 32 hexadecimal digits in upper or lower case, with or without colons, as other tools print
    ///   them.
    package init?(_ text: String) {
        let digits = text.utf8.filter { $0 != UInt8(ascii: ":") }
        guard digits.count == Self.byteCount * 2, digits.allSatisfy({ Hexadecimal.value(of: $0) != nil }) else {
            return nil
        }
        let word = { (digits: ArraySlice<UInt8>) in
            digits.reduce(UInt64(0)) { $0 << 4 | UInt64(Hexadecimal.value(of: $1) ?? 0) }  // fits: a digit
        }
        self.init(high: word(digits.prefix(16)), low: word(digits.suffix(16)))
    }

    /// 16 bytes, the highest first.
    package var bytes: [UInt8] {
        [high, low].flatMap { word in
            withUnsafeBytes(of: word.bigEndian) { Array($0) }
        }
    }

    /// 32 lower-case hexadecimal digits.
    package var description: String { Hexadecimal.string(bytes) }

    /// The text as ``description`` writes the same number; the text itself if it is not one.
    package static func spelling(_ text: String) -> String { CertificateSerial(text)?.description ?? text }
}
