import Foundation
import Notifications
import Testing

/// The encoder of texts in paths and queries.
struct PercentEncodedTests {
    @Test func `Unreserved characters stay, and every other byte is escaped`() {
        #expect("azAZ09-._~".percentEncoded == "azAZ09-._~")
        #expect("a/b?c=d&e+f %\u{1}ä".percentEncoded == "a%2Fb%3Fc%3Dd%26e%2Bf%20%25%01%C3%A4")
        #expect("".percentEncoded == "")
    }

    @Test func `Every ASCII character comes back from Foundation's decoder`() {
        let text = String(decoding: UInt8(0)...127, as: UTF8.self)
        #expect(text.percentEncoded.removingPercentEncoding == text)
    }
}
