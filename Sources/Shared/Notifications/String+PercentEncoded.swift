extension String {
    /// The text with every byte escaped that has a meaning in a path or in a query, or is not ASCII (RFC 3986, 2.3).
    package var percentEncoded: String {
        var encoded = ""
        for byte in utf8 {
            if byte.isLetterOrDigit || "-._~".utf8.contains(byte) {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                encoded += byte < 16 ? "%0" : "%"
                encoded += String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }
}

extension StringProtocol {
    /// The bytes of a part of a path (RFC 3986, 2.1): some clients write `=` and `+` as `%3D` and `%2B`. Nil if a percent sign is
    /// not followed by two hexadecimal digits.
    package var percentDecoded: [UInt8]? {
        var bytes: [UInt8] = []
        var rest = Array(utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(Hexadecimal.value(of:)),
                let low = rest.popFirst().flatMap(Hexadecimal.value(of:))
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// ``percentDecoded`` as a text; nil also if the bytes are not UTF-8.
    package var percentDecodedText: String? { percentDecoded.flatMap { String(validating: $0, as: UTF8.self) } }
}
