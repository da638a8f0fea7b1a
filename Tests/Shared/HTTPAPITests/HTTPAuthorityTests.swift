import Testing

@testable import HTTPAPI

/// Which texts name a host.
struct HTTPAuthorityTests {
    @Test(arguments: [
        ("example.com", "example.com"), ("EXAMPLE.com:443", "example.com"), ("[::1]", "::1"),
        ("[FE80::1]:2198", "fe80::1"),
        ("127.0.0.1:", "127.0.0.1"), ("a%2fb", "a%2fb"), ("", ""), (":80", ""), ("x_1.~;", "x_1.~;"),
    ])
    func `The host comes without brackets and port, in lower case`(_ text: String, _ host: String) {
        #expect(HTTPAuthority(text)?.host == host)
    }

    @Test(arguments: [
        "a b", "a/b", "a@b", "a?b", "a#b", "a:b", "a:1:2", "a:65536", "a:-1", "a:+1", "::1", "[::1", "[::1]x", "[]",
        "[g]",
        "[::1%25lo]", "a%2", "a%zz", "\u{f6}", "a:\u{661}", "a\tb", "]",
    ])
    func `Anything else is not a host`(_ text: String) {
        #expect(HTTPAuthority(text) == nil)
    }
}
