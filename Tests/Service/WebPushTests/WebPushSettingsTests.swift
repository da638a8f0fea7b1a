import Testing

@testable import Service

/// The settings of Web Push.
struct WebPushSettingsTests {
    @Test(arguments: [
        ("https://push.example.com", "https://push.example.com"),
        ("HTTPS://Push.Example.com:443", "https://push.example.com"),
        ("https://push.example.com:8443", "https://push.example.com:8443"),
        ("https://push.example.com:0443", "https://push.example.com"),
        ("https://push.example.com:08443", "https://push.example.com:8443"),
        ("https://[2001:DB8::1]:8443", "https://[2001:db8::1]:8443"),
        ("http://127.0.0.1:80", "http://127.0.0.1"), ("http://localhost:8080", "http://localhost:8080"),
    ])
    func `An origin is written as senders write it`(_ text: String, _ origin: String) throws {
        var settings = Settings()
        try settings.setWebPushURL(text)
        #expect(settings.webPush.origin == origin)
    }

    @Test(arguments: [
        "push.example.com", "https://", "https://push.example.com/", "https://push.example.com/wp",
        "http://push.example.com",
        "ftp://push.example.com", "https://a@push.example.com", "https://push.example.com:",
        "https://push.example.com:x",
        "https://push.example.com:0", "https://push.example.com?", "https://push.example.com#a", "",
    ])
    func `What is not an origin is refused`(_ text: String) {
        var settings = Settings()
        #expect(throws: ServiceError.self) { try settings.setWebPushURL(text) }
    }

    @Test func `Without TLS it listens on this machine, or for known proxies`() throws {
        var settings = Settings()
        try settings.setWebPushPlain("127.0.0.1:8080")
        try settings.checkWebPush()
        try settings.setWebPushPlain("0.0.0.0:8080")
        #expect(throws: ServiceError.self) { try settings.checkWebPush() }
        try settings.setProxies(["192.0.2.0/24"])
        #expect(throws: ServiceError.self, "The origin is not known.") { try settings.checkWebPush() }
        try settings.setWebPushURL("https://push.example.com")
        try settings.checkWebPush()
    }

    @Test func `An origin without a listener is a mistake`() throws {
        var settings = Settings()
        try settings.setWebPushURL("https://push.example.com")
        #expect(throws: ServiceError.self) { try settings.checkWebPush() }
    }
}
