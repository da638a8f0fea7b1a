/// Checks dates and times of ISO 8601 before they are parsed. Foundation carries what is too large over to the next unit: it
/// reads 30 February as 2 March.
package enum CalendarTime {
    /// Whether a text begins with a year, a month and a day that exist, and, if more numbers follow, with an hour, a minute and
    /// a second.
    package static func exists(_ text: String) -> Bool {
        let numbers = text.utf8.split { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.prefix(6)
            .map { Int(String(decoding: $0, as: UTF8.self)) ?? .max }
        guard numbers.count >= 3 else { return false }
        let (year, month, day) = (numbers[0], numbers[1], numbers[2])
        guard (1...12).contains(month), (1...days(in: month, of: year)).contains(day) else { return false }
        return zip(numbers.dropFirst(3), [23, 59, 59]).allSatisfy { $0 <= $1 }
    }

    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
