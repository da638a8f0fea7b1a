import CoreMetrics
import Delivery
import Logging
import NIOPosix
import Notifications
import Storage
import Testing
import Trust

@testable import Upstream

/// What was judged by accounts from before a change of an app's upstream.
struct WithdrawnUpstreamTests {
    /// Accounts without any upstream.
    private struct EmptyAccounts: Accounts {
        let current = AccountsSnapshot(version: 1)
        let isCurrent = true
        let followed: AsyncStream<Void>.Continuation

        func apply(_ change: AccountChange, to version: UInt64?) async throws(StoreError) -> AccountsSnapshot {
            current
        }

        func changes() -> AsyncStream<AccountsSnapshot> {
            followed.yield()
            return AsyncStream { $0.yield(current) }
        }
    }

    @Test func `An upstream that was removed is not opened again`() async throws {
        let seal = try #require(CredentialSeal(key: CredentialSeal.makeKey()))
        let forwarder = UpstreamForwarder(
            UpstreamVault(seal), variables: [:], metrics: UpstreamMetrics(factory: NOOPMetricsHandler.instance),
            logger: Logger(label: "test"), group: MultiThreadedEventLoopGroup.singleton,
            now: { Timestamp(milliseconds: 0) })
        let (followed, continuation) = AsyncStream<Void>.makeStream()
        let following = Task { await forwarder.run(EmptyAccounts(followed: continuation)) }
        for await _ in followed { break }
        let bundleID = try #require(BundleID(rawValue: "com.example.app"))
        let removed = AppUpstream(
            place: UpstreamPlace(bundleID: bundleID, environment: .development), url: "https://127.0.0.1:1",
            credentials: .passthrough)
        let team = try #require(TeamID(rawValue: "ABCDE12345"))
        var push = ForwardedPush(
            deviceToken: [1], topic: nil, id: "", payload: Array("{}".utf8), share: ForwardingShare(team), via: "")
        push.authorization = PassedAuthorization(
            team: team, key: try #require(KeyID(rawValue: "ABCDE12345")), value: "bearer x")
        let answer = await forwarder.forward(push, to: removed)
        #expect(
            answer
                == .failed("The app's upstream was changed; send the request again.", mayHaveBeenTaken: false))
        following.cancel()
        await following.value
        await forwarder.shutDown()
    }
}
