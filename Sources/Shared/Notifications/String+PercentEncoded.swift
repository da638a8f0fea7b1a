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
