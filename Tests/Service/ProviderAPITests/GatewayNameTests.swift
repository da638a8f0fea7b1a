import Notifications
import Testing

@testable import ProviderAPI

/// What a request's `via` says of the gateways that it has passed (RFC 9110, 7.6.3).
struct GatewayNameTests {
    private let name = GatewayName(of: [1, 2, 3], .production)

    @Test(arguments: [
        ("", 0), (" , ", 0), ("2 a", 1), ("1.1 a, 2 b", 2), ("1.1 a (Apache/1.1), 2 b", 2),
        // Commas in comments are none between gateways.
        ("1.1 a (one, two, three), 2 b (four, five)", 2), (#"1.1 a (one (two, three), four), 2 b"#, 2),
        (#"1.1 a (one \), two), 2 b"#, 2), ("1.1 a (one, 2 b", 1),
    ])
    func `Each gateway counts once`(_ via: String, _ count: Int) {
        #expect(name.passed(via) == .others(count))
    }

    @Test func `This gateway is found among others, and not in a comment`() {
        #expect(name.passed("1.1 a (x, y), 2 \(name)") == .this)
        #expect(name.passed("1.1 a, 2 \(name) (a comment)") == .this)
        #expect(name.passed("1.1 a (x, 2 \(name))") == .others(1))
    }
}
