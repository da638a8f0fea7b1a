import Delivery
import Notifications
import Testing
import WebPush

struct RefusedTokensTests {
    private static func upstream(_ url: String = "https://one") throws -> AppUpstream {
        AppUpstream(
            place: UpstreamPlace(
                bundleID: try #require(BundleID(rawValue: "com.example.app")), environment: .production), url: url,
            credentials: .certificate)
    }

    private static func uptime(_ seconds: UInt64) -> Uptime { Uptime(nanoseconds: seconds * 1_000_000_000) }

    @Test func `A token is refused for a day, and asked about again afterwards`() throws {
        var tokens = RefusedTokens()
        let upstream = try Self.upstream()
        tokens.add([1], refusedBy: upstream, at: Self.uptime(10))
        #expect(tokens.has([1], refusedBy: upstream, at: Self.uptime(10 + 86_399)))
        #expect(!tokens.has([1], refusedBy: upstream, at: Self.uptime(10 + 86_400)))
        #expect(!tokens.has([2], refusedBy: upstream, at: Self.uptime(11)))
        tokens.add([2], refusedBy: upstream, at: Self.uptime(10 + 86_400))
        #expect(tokens.count == 1, "What is over is forgotten.")
    }

    @Test func `Another upstream is asked, because it may know the token`() throws {
        var tokens = RefusedTokens()
        tokens.add([1], refusedBy: try Self.upstream(), at: Self.uptime(0))
        #expect(tokens.has([1], refusedBy: try Self.upstream(), at: Self.uptime(1)))
        #expect(!tokens.has([1], refusedBy: try Self.upstream("https://two"), at: Self.uptime(1)))
        tokens.add([1], refusedBy: try Self.upstream("https://two"), at: Self.uptime(5))
        #expect(tokens.has([1], refusedBy: try Self.upstream("https://two"), at: Self.uptime(86_402)))
        #expect(tokens.count == 1)
    }

    @Test func `The list is bounded, and forgets the oldest`() throws {
        var tokens = RefusedTokens(capacity: 3)
        let upstream = try Self.upstream()
        for number in 1...5 as ClosedRange<UInt8> {
            tokens.add([number], refusedBy: upstream, at: Self.uptime(UInt64(number)))
        }
        #expect(tokens.count == 3)
        let known = (1...5 as ClosedRange<UInt8>).filter { tokens.has([$0], refusedBy: upstream, at: Self.uptime(6)) }
        #expect(known == [3, 4, 5])
        // The same token again and again takes no room of others.
        for time in 6...100 as ClosedRange<UInt64> { tokens.add([5], refusedBy: upstream, at: Self.uptime(time)) }
        #expect(tokens.count <= 3 && tokens.has([5], refusedBy: upstream, at: Self.uptime(101)))
    }
}
