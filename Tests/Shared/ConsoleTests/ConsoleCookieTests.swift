import Testing

@testable import Console

struct ConsoleCookieTests {
    @Test func `The browser sends a cookie that came over TLS only over TLS`() {
        #expect(ConsoleSessions.cookie("x", "localhost:1", isSecure: true).hasSuffix("; SameSite=Strict; Secure"))
        #expect(!ConsoleSessions.cookie("x", "localhost:1", isSecure: false).contains("Secure"))
    }
}
