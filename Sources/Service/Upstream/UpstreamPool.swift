import APNSProvider
import Delivery
import Logging
import NIOCore
import Notifications

/// The connections to one upstream with the same credentials, which all clients share.
final class UpstreamPool: Sendable {
    private let client: ProviderClient

    /// - Parameter tokens: the provider tokens of all pools. Pools with the same key share one (Guide, 2.3.1).
    init(
        _ endpoint: UpstreamVault.Endpoint,
        tokens: any ProviderTokenStore,
        logger: Logger,
        group: any EventLoopGroup,
        connectionsChanged: @escaping @Sendable (Int) -> Void,
    ) throws(UpstreamError) {
        var configuration = ProviderClient.Configuration()
        configuration.proxy = endpoint.proxy
        configuration.tokenStore = tokens
        configuration.maximumWaiting = ForwardingLimits.waiting
        do throws(ProviderError) {
            client = try ProviderClient(
                credentials: endpoint.credentials, environment: endpoint.environment, configuration: configuration,
                logger: logger, group: group, connectionsChanged: connectionsChanged)
        } catch {
            throw UpstreamError(.badAddress, error.cause)
        }
    }

    func forward(_ requests: [ForwardedPushRequest]) {
        client.forward(requests, deadline: ForwardingLimits.answerTime)
    }

    static func request(_ push: ForwardedPush) -> PushRequest {
        var request = PushRequest(
            deviceToken: Hexadecimal.string(push.deviceToken), topic: push.topic,
            payload: ByteBuffer(bytes: push.payload),
            id: push.id, expiration: push.expiration, priority: push.priority, collapseID: push.collapseID,
            pushType: push.pushType)
        request.via = push.via
        request.authorization = push.authorization?.value
        return request
    }

    /// Fails what these shares have forwarded and was not sent yet.
    func giveUpWaiting(of shares: Set<String>) { client.giveUpWaiting(of: shares) }

    func shutDown() async { await client.shutDown() }

    /// Returns what the client is told. The provider library lets nothing pass that no push service says, and the rest is
    /// limited here, because an upstream may be any server.
    static func answer(_ result: Result<PushAnswer, ProviderError>) -> ForwardingAnswer {
        switch result {
        case .failure(let error): return .failed(error.cause, mayHaveBeenTaken: error.mayHaveBeenTaken)
        case .success(let answer):
            var told = UpstreamAnswer(status: answer.status)
            if !answer.isSuccess {
                told.reason = answer.reason
                told.timestamp = answer.timestamp
                told.detail = answer.detail.map { String($0.prefix(maximumDetailCharacters)) }
                told.retryAfter = answer.retryAfter
            }
            told.apnsID = answer.apnsID.flatMap { NotificationID($0) == nil ? nil : $0 }
            told.uniqueID = answer.uniqueID.flatMap { isWord($0, maximumBytes: maximumUniqueIDBytes) ? $0 : nil }
            return .answered(told)
        }
    }

    /// The longest `apns-unique-id`, in bytes. It is a UUID.
    static let maximumUniqueIDBytes = 64
    /// The longest detail, in characters. It is a sentence.
    static let maximumDetailCharacters = 500

    private static func isWord(_ text: String, maximumBytes: Int) -> Bool {
        (1...maximumBytes).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }
}
