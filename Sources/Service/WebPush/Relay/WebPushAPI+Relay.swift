import Connections
import Delivery
import HTTPAPI
import HTTPTypes
import Hummingbird
import NIOCore
import Notifications

// The URL of the relays that publishers have run before. Their apps in the App Store have it built in.
extension WebPushAPI {
    /// What the path of a relay's URL has.
    struct RelayPath: Sendable, Hashable {
        var environment: Environment
        /// As it was sent.
        var token: String
        /// Nil if there is none.
        var extra: String?
    }

    /// Takes a message to a relay's URL.
    ///
    /// The rate of the app as a whole comes last of the rates, so that what one address or token has too much uses up
    /// nothing of the others'.
    func relay(
        _ request: Request, to path: RelayPath, at place: Place, _ address: PeerAddress?, _ client: SocketAddress?
    ) async throws(Refusal) -> Response {
        guard accounts.isCurrent else { throw Self.refusal(.accountsNotCurrent) }
        let target = try target(path, address)
        let now = clock.moment.uptime
        if let excess = rates.excess(ofRelay: address, target.owner, target.app.id, at: now) {
            throw refusal(excess, client, "Too many messages are sent to the relay's URL.")
        }
        let message: WebPushMessage
        let fields: MessageFields
        do throws(Problem) {
            let body = try await request.bytes(upTo: WebPushMessage.maximumBodyBytes)
            fields = try MessageFields(
                request.headers, isEmpty: body.isEmpty, takesPlain: target.settings.isPlain,
                usualTTL: WebPushMessage.maximumTimeToLive)
            message = fields.message(body)
        } catch {
            throw Refusal(error)
        }
        _ = try key(of: request.headers, toEndpoint: target.owner, place.tokens)
        guard let relay else { throw .noEndpoint }
        var random = SystemRandomNumberGenerator()
        let id = NotificationID.random(using: &random)
        switch await relay.phones.send(message, id, ttl: fields.ttl, extra: path.extra, to: target.phone) {
        case .accepted: break
        case .gone(let detail, _):
            relay.refuse(target, at: clock.moment.uptime)
            // Each guess costs a question to the upstream.
            if let address { rates.countGuess(of: address, at: clock.moment.uptime) }
            throw .status(404, detail)
        case .busy(let retryAfter):
            throw Refusal(
                Problem(429, "The upstream takes no more messages to this device at present."),
                retryAfter: retryAfter ?? WebPushLimits.retryAfterBusy)
        case .unavailable(let detail): throw .status(503, detail)
        }
        // Nobody can withdraw it, because the upstream has it. Its URL is a name like any other.
        let destination = Destination(
            environment: path.environment, device: DeviceID(rawValue: 0), app: target.app.id)
        let name = try name(id, destination)
        return WebPushAnswer.created(ttl: fields.ttl, location: place.origin + WebPushPath.messages + name)
    }

    private func target(_ path: RelayPath, _ address: PeerAddress?) throws(Refusal) -> WebPushRelay.Target {
        do throws(Refusal) {
            let token: [UInt8]
            do throws(WebPushRelay.TokenFault) {
                token = try WebPushRelay.token(path.token)
            } catch {
                throw .status(404, error.detail)
            }
            guard let relay, environments.contains(path.environment),
                let target = WebPushRelay.Target(accounts.current, path.environment, token: token)
            else { throw .status(404, "There is nothing at this path.") }
            guard !relay.isRefused(target, at: clock.moment.uptime) else {
                throw .status(404, "The upstream does not know the device token, and is not asked again before a day.")
            }
            return target
        } catch {
            if let address { rates.countGuess(of: address, at: clock.moment.uptime) }
            throw error
        }
    }
}
