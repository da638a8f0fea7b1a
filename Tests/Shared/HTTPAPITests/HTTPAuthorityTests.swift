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
        ("a:443", "A", "https", true), ("a", "a:", "https", true), ("a:80", "a", "http", true),
        ("a:0443", "a", nil, true),
        ("a:443", "a", "http", false), ("a:80", "a", "https", false), ("a:1", "a:2", "https", false),
        ("a", "b", "https", false),
    ])
    func `The usual port may be left out`(_ one: String, _ other: String, _ scheme: String?, _ isSame: Bool) throws {
        let (one, other) = (try #require(HTTPAuthority(one)), try #require(HTTPAuthority(other)))
        #expect(one.isSame(as: other, scheme: scheme) == isSame && other.isSame(as: one, scheme: scheme) == isSame)
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
