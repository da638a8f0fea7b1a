import Foundation
import Testing
@testable import Trust

@Suite("IP addresses as text")
struct IPAddressTests {
    /// The address as the C library reads it.
    private func reference(_ text: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET6, text, &bytes) == 1 { return bytes }
        if inet_pton(AF_INET, text, &bytes) == 1 { return Array(bytes.prefix(4)) }
        return nil
    }

    @Test(arguments: [
        "127.0.0.1", "0.0.0.0", "255.255.255.255", "256.0.0.1", "1.2.3", "1.2.3.4.5", "1..2.3", "", ".", "1.2.3.4 ",
        "a.b.c.d", "1.2.3.-4", "::", "::1", "1::", "fe80::1", "2001:db8:0:0:1:0:0:1", "2001:DB8::1:0:0:1",
        "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", ":::", ":", ":1", "1:",
        "::ffff:1.2.3.4",
        "64:ff9b::1.2.3.4", "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:7:1.2.3.4", "::1.2.3", "1.2.3.4::", "::1.2.3.4:5",
        "12345::", "g::", "::1%lo", "[::1]", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8",
        "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255",
    ])
    func `Addresses are read as the C library reads them`(text: String) {
        #expect(IPAddress(text)?.bytes == reference(text))
    }

    @Test
    func `A leading zero is refused, because some programs take it for octal`() {
        #expect(IPAddress("127.0.0.01") == nil)
    }
}
