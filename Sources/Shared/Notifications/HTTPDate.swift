/// Reads the dates of HTTP (RFC 9110, 5.6.7).
package enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Reads a date in the form that servers have to send: `Sun, 06 Nov 1994 08:49:37 GMT`.
    /// - Returns: seconds since 1970; nil if the text has another form.
    package static func seconds(_ text: String) -> Int64? {
        // The name of the day says nothing new.
        let bytes = Array(text.utf8)
        guard bytes.count == 29, bytes[3] == UInt8(ascii: ","), bytes[19] == UInt8(ascii: ":"),
            bytes[22] == UInt8(ascii: ":"), text.hasSuffix(" GMT"), [4, 7, 11, 16].allSatisfy({ bytes[$0] == 0x20 }),
            let day = number(bytes[5..<7]), let year = number(bytes[12..<16]),
            let month = months.firstIndex(of: String(decoding: bytes[8..<11], as: UTF8.self)),
            let hour = number(bytes[17..<19]), let minute = number(bytes[20..<22]), let second = number(bytes[23..<25]),
            (1...31).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        return ((days(year, Int64(month) + 1, day) * 24 + hour) * 60 + minute) * 60 + second  // fits: a month of twelve
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int64? {
        bytes.reduce(0) { sum, byte in
            guard let sum, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            return sum * 10 + Int64(byte - UInt8(ascii: "0"))  // fits: four digits at most
        }
    }

    /// The days from 1970 to a date of the Gregorian calendar. The year begins in March here, so that a leap day is its last.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
