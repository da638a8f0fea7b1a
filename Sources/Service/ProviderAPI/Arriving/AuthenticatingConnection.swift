import Connections
import Delivery
import HTTP2
import Matching
import NIOCore
import Notifications
import Trust

/// A connection of the provider API or of the management of channels: how both recognise who uses them, and how both
/// end.
protocol AuthenticatingConnection: StagePerformer, HTTP2Connection {
    /// The provider API of the environment: its clock, its limits and its answers.
    var provider: ProviderAPI { get }
    var session: HTTP2Session? { get }
    /// The identity of the provider's certificate, if it presented one. Provider tokens are then ignored (Guide,
    /// Table 8-2).
    var certificate: ProviderIdentity? { get }
    var peer: String { get }
    var memory: ProviderMemory { get set }
    var trust: ConnectionTrust { get set }
    /// Why the connection is ending; nil if it is not.
    var goneAway: Rejection.Reason? { get set }
    /// The memory of the open requests that counts as untrusted in the provider API, in KiB.
    var untrusted: Int { get set }
    /// What of it is not that of open requests.
    var held: HeldBytes { get set }
    var accepted: AcceptedConnection { get }
    /// The time of the last tick.
    var second: NIODeadline { get }
    /// The requests that were neither answered nor passed on.
    var unhandledRequests: [StreamID] { get }

    /// Rejects a request that was not passed on.
    func reject(_ stream: StreamID, _ rejection: Rejection)

    /// Called after a valid or invalid provider token.
    func trustChanged()
}

extension AuthenticatingConnection {
    var isSuspect: Bool { trust.isSuspect }
    var hasShownTrust: Bool { trust.isShown }

    /// Updates the connection's state after a request's sender was checked. An invalid certificate ends the
    /// connection, and so do too many invalid tokens.
    /// - Parameter hasShape: false if the request failed the shape checks.
    func judge(_ sender: ProviderRequest.Sender, hasShape: Bool = true) {
        let verdict = trust.judge(
            sender, hasShape: hasShape, limit: provider.limits.failedTokens, at: provider.clock.time.nanoseconds)
        switch verdict {
        case .unchanged:
            break
        case .valid(let token):
            memory.bind(to: token)
            trustChanged()
        case .invalid:
            trustChanged()
        case .limitExceeded(let limit):
            provider.limitLog.limitExceeded(limit, peer: peer)
        case .ends(let reason, let limit):
            if let limit {
                trustChanged()
                provider.limitLog.limitExceeded(limit, peer: peer)
            }
            goAway(reason)
        }
    }

    /// Ends the connection if its certificate was revoked or has expired, even while the provider sends nothing. A
    /// certificate for the other environment ends it with the first request, so that the provider gets the reason.
    func checkCertificate() {
        guard let certificate else { return }
        defer { memory.endBatch() }
        do throws(Rejection) {
            try memory.check(certificate, api: provider)
        } catch {
            guard error.reason == .badCertificate else { return }
            // Do not wait for requests that have not ended.
            for stream in unhandledRequests { reject(stream, error) }
            goAway(error.reason)
        }
    }

    /// Ends the connection when its requests are answered.
    func goAway(_ reason: Rejection.Reason) {
        guard goneAway != reason else { return }
        goneAway = reason
        if reason == .idleTimeout { provider.limitLog.limitExceeded(.idleTimeout, peer: peer) }
        session?.goAwayOnceAnswered(debugData: goAwayData(reason))
    }

    /// The debug data of a GOAWAY with this reason.
    private func goAwayData(_ reason: Rejection.Reason) -> [UInt8] {
        Array(ProviderResponse.body(Rejection(reason), hasDetail: false).readableBytesView)
    }

    func drain() {
        session?.goAwayOnceAnswered(debugData: goAwayData(.shutdown))
    }

    /// Rejects requests that have not ended in time, so that the provider sends them again on another connection.
    /// Requests that were passed on may still be carried out, so this does not answer them: a provider that heard
    /// `Shutdown` would send the notification or create the channel a second time.
    func abandon() {
        for stream in unhandledRequests { reject(stream, Rejection(.shutdown)) }
    }
}
