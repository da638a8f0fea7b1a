import Notifications
import X509

/// Names one certificate of our authority: what a revocation refers to.
package struct CertificateSerial: Sendable, Hashable, CustomStringConvertible {
    /// In bytes. RFC 5280, 4.1.2.2, allows up to 20.
    package static let byteCount = 16

    let high: UInt64
    let low: UInt64

    /// A new one: 126 random bits under a first byte of 0x40 to 0x7f, so that it is positive and always 16 bytes.
    package static func random(using generator: inout some RandomNumberGenerator) -> CertificateSerial {
        CertificateSerial(high: generator.next() & ~(0b11 << 62) | 0b01 << 62, low: generator.next())
    }

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// - Returns: nil unless the bytes are a serial that we could have given.
    init?(_ number: Certificate.SerialNumber) {
        guard number.bytes.count == Self.byteCount, let first = number.bytes.first, first & 0xc0 == 0x40 else {
            return nil
        }
        let word = { (bytes: ArraySlice<UInt8>) in bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
        self.init(high: word(number.bytes.prefix(8)), low: word(number.bytes.suffix(8)))
    }

    /// - Parameter text: 32 hexadecimal digits in either case, with or without the colons that other tools write.
    package init?(_ text: String) {
        let digits = text.utf8.filter { $0 != UInt8(ascii: ":") }
        guard digits.count == Self.byteCount * 2, digits.allSatisfy({ Hexadecimal.value(of: $0) != nil }) else {
            return nil
        }
        let word = { (digits: ArraySlice<UInt8>) in
            digits.reduce(UInt64(0)) { $0 << 4 | UInt64(Hexadecimal.value(of: $1) ?? 0) }
        }
        self.init(high: word(digits.prefix(16)), low: word(digits.suffix(16)))
    }

    var number: Certificate.SerialNumber {
        Certificate.SerialNumber(bytes: bytes)
    }

    private var bytes: [UInt8] {
        [high, low].flatMap { word in
            withUnsafeBytes(of: word.bigEndian) { Array($0) }
        }
    }

    /// 32 lower-case hexadecimal digits.
    package var description: String { Hexadecimal.string(bytes) }
}
