import Testing

@testable import carillon

struct RequestLineTests {
    @Test
    func `A line shows no character that changes what the terminal shows`() {
        let line = RequestLine(#"{"number":1,"topic":"a","payload":{"aps":{"alert":"t\#u{202e}evil\#u{9b}31m"}}}"#)
        #expect(line.text.hasPrefix("#1  a  not answered"))
        #expect(line.text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x9b && $0.value != 0x202e })
    }
}
