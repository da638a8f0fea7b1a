import Notifications
import Testing

/// Dates of HTTP, and other texts with digits of ASCII.
struct HTTPDateTests {
    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199), ("Tue, 01 Mar 2100 00:00:00 GMT", 4_107_542_400),
            ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
        ] as [(String, Int64)])
    func `A date is read`(text: String, seconds: Int64) {
        #expect(HTTPDate.seconds(text) == seconds)
    }

    @Test(arguments: [
        "", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, ٠٦ Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ",
    ])
    func `Another form is none`(text: String) {
        #expect(HTTPDate.seconds(text) == nil)
    }

    @Test func `Only digits of ASCII are numbers`() {
        #expect("2027-01-31T09:05".numbers(in: "0000-00-00T00:00") == [2027, 1, 31, 9, 5])
        for text in ["2027-01-31T09:0", "2027-01-31t09:05", "2027-01-31T09:0٥", "٢٠٢٧-01-31T09:05", "２027-01-31T09:05"]
        {
            #expect(text.numbers(in: "0000-00-00T00:00") == nil, "\(text)")
        }
        #expect(" \ta b\t".trimmingBlanks == "a b" && "\u{a0}a".trimmingBlanks == "\u{a0}a" && " ".trimmingBlanks == "")
    }
}
