// What clients write in the place of a device token's hexadecimal digits.
extension DeviceToken {
    /// Whether a text is the description of a device token's data in place of its digits. An app gets its device token as
    /// data. Printed, this is `<c63963fd fdafa1b9 …>` up to iOS 12, `{length = 32, bytes = 0xc63963fd …}` later, and
    /// `32 bytes` in Swift. Some clients encode the blanks and brackets in the path (RFC 3986, 2.1).
    package static func isDescription(_ text: String) -> Bool {
        let text = text.lowercased()
        return ["<", "{", "%3c", "%7b"].contains { text.hasPrefix($0) }
            || [" bytes", "%20bytes", "+bytes"].contains { text.hasSuffix($0) }
    }

    /// A sentence that says which character of a text is not a hexadecimal digit; nil if all are.
    package static func fault(in text: String) -> String? {
        let digits = Array(text.utf8)
        guard let index = digits.firstIndex(where: { Hexadecimal.value(of: $0) == nil }) else { return nil }
        if isDescription(text) {
            return "The device token is the description of its data: send each of its bytes as two hexadecimal digits."
        }
        guard digits[index] != UInt8(ascii: " ") else {
            return "Character \(index + 1) of the device token is a blank: send hexadecimal digits only."
        }
        return "Character \(index + 1) of the device token is not a hexadecimal digit."
    }
}
