import Notifications
import Testing

struct LettersAndDigitsTests {
    @Test func `Only ASCII letters and digits are letters and digits`() {
        let found = (UInt8.min...UInt8.max).filter(\.isLetterOrDigit)
        #expect(found == Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8))
    }

    @Test func `A name also has hyphens, underscores and periods`() {
        let found = (UInt8.min...0x7f).filter { String(Unicode.Scalar($0)).isName(maximumBytes: 1) }
        #expect(found == (UInt8.min...0x7f).filter { $0.isLetterOrDigit || "-_.".utf8.contains($0) })
    }

    @Test(arguments: ["", "abcd", "é", "a b", "a\u{0}"])
    func `Not a name of at most three bytes`(text: String) { #expect(!text.isName(maximumBytes: 3)) }
}
