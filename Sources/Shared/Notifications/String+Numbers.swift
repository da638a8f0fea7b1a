extension String {
    /// Reads the numbers of a text that has digits of ASCII where a form has zeros, and is equal to it elsewhere: those of
    /// `2027-01-31` in the form `0000-00-00`. A regular expression's `\d` would also take the digits of other scripts.
    /// - Returns: nil if the text has another form.
    package func numbers(in form: StaticString) -> [Int]? {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        return form.withUTF8Buffer { form in
            guard utf8.count == form.count else { return nil }
            var numbers: [Int] = []
            var isInNumber = false
            for (byte, expected) in zip(utf8, form) {
                guard expected == UInt8(ascii: "0") else {
                    guard byte == expected else { return nil }
                    isInNumber = false
                    continue
                }
                guard digits.contains(byte) else { return nil }
                if !isInNumber { numbers.append(0) }
                isInNumber = true
                // No form has so many digits that this overflows.
                // fits: a digit
                numbers[numbers.count - 1] = numbers[numbers.count - 1] &* 10 &+ Int(byte - digits.lowerBound)
            }
            return numbers
        }
    }

    /// The text without blanks and tabs of ASCII at its ends (RFC 9110, 5.6.3). Other white space is a part of a value.
    package var trimmingBlanks: String {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let rest = utf8.drop(while: isBlank)
        guard let last = rest.lastIndex(where: { !isBlank($0) }) else { return "" }
        return String(self[rest.startIndex...last])
    }
}
