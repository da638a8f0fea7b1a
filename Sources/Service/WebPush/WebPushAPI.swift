package import Connections
import Credentials
package import Delivery
import HTTPAPI
import HTTPTypes
import Hummingbird
import Matching
import NIOCore
import Notifications
import Rates
import Storage
import Synchronization
package import Trust

/// Web Push (RFC 8030): answers the requests of application servers and browsers to endpoints. It knows nothing of sockets.
///
/// The order of the checks is part of the protection. What costs nothing comes first: the rates of the address, the path, the
/// endpoint, its rate, the size and the fields. A signature is verified after them, because anybody makes valid tokens.
package final class WebPushAPI: Sendable {
    /// Where the endpoints are.
    struct Place: Sendable {
        /// The origin of all endpoints, without a slash at its end.
        let origin: String
        let tokens: VAPIDTokens
    }

    /// Nil until the listener has its address.
    private let place = Mutex<Place?>(nil)
    let environments: Set<Environment>
    private let lookUps: SubscriptionLookUps
    let accounts: any Accounts
    private let delivery: Delivery
    private let seal: CredentialSeal
    private let verifying: @Sendable () -> Void
    let rates: WebPushRates
    let clock: ServiceClock
    private let limitLog: LimitLog
    let journal: WebPushJournal?
    /// What the relay's URL needs; nil if there is none.
    let relay: WebPushRelay?
    /// The phones behind upstreams; nil if no grant may send.
    let phones: HandleSubscriptions?
    private let handles: (any HandleAsking)?
    /// Makes the subscriptions that nobody has made; nil unless the service accepts any.
    private let firstSight: WebPushTools.FirstSight?
    let acceptAnyFrom: [AddressRange]

    /// - Parameters:
    ///   - seal: encrypts the names of messages.
    ///   - tools: what tests have of the development environment; nil if the service does not serve it.
    ///   - relay: what the relay's URL needs; nil if there is none.
    ///   - phones: the phones behind upstreams; nil if no grant may send.
    ///   - handles: carries out requests about handles and grants; nil if this port takes none.
    ///   - verifying: called with each token that is verified and not recalled. For tests.
    package init(
        environments: [Environment],
        subscriptions: any WebPushSubscriptions,
        accounts: any Accounts,
        delivery: Delivery,
        seal: CredentialSeal,
        limits: WebPushLimits,
        limitLog: LimitLog,
        clock: ServiceClock,
        tools: WebPushTools? = nil,
        relay: WebPushRelay? = nil,
        phones: HandleSubscriptions? = nil,
        handles: (any HandleAsking)? = nil,
        verifying: @escaping @Sendable () -> Void = {},
    ) {
        self.environments = Set(environments)
        lookUps = SubscriptionLookUps { digests throws(StoreError) in
            try await subscriptions.subscriptions(with: digests)
        }
        self.accounts = accounts
        self.delivery = delivery
        self.seal = seal
        self.limitLog = limitLog
        self.clock = clock
        self.phones = phones
        self.handles = handles
        self.verifying = verifying
        self.relay = relay
        firstSight = tools?.firstSight
        acceptAnyFrom = tools?.acceptAnyFrom ?? []
        journal = tools.map { WebPushJournal($0, accounts: accounts, clock: clock) }
        rates = WebPushRates(limits)
    }

    /// Begins to serve.
    /// - Parameter origin: the origin of all endpoints, and the `aud` of all tokens.
    package func begin(at origin: String) {
        let tokens = VAPIDTokens(VAPIDRules(origin: origin), verifying: verifying)
        place.withLock { $0 = Place(origin: origin, tokens: tokens) }
    }

    /// Called for each new connection.
    /// - Returns: its number in the journal; 0 if nobody observes the requests.
    func connectionOpened() -> UInt64 { journal?.connectionOpened() ?? 0 }

    /// Answers a request.
    /// - Parameters:
    ///   - client: the address of the sender; nil if the system does not know it.
    ///   - link: the request's connection.
    func respond(to request: Request, from client: SocketAddress?, on link: WebPushLink) async -> Response {
        do throws(Refusal) {
            let response = try await answer(request, from: client, link)
            return request.method == .head ? response.createHeadResponse() : response
        } catch {
            return request.method == .head ? error.response.createHeadResponse() : error.response
        }
    }

    /// Why a request is refused.
    struct Refusal: Error {
        var problem: Problem
        var retryAfter: Int?

        init(_ problem: Problem, retryAfter: Int? = nil) { (self.problem, self.retryAfter) = (problem, retryAfter) }

        var response: Response { WebPushAnswer.problem(problem, retryAfter: retryAfter) }

        static func status(_ status: Int, _ detail: String) -> Refusal { Refusal(Problem(status, detail)) }

        static var noEndpoint: Refusal { status(404, "There is no such endpoint, or its subscription has ended.") }
    }

    private func answer(
        _ request: Request, from client: SocketAddress?, _ link: WebPushLink
    ) async throws(Refusal) -> Response {
        guard let place = place.withLock(\.self) else { throw .status(503, "The service is starting.") }
        let address = PeerAddress(client)
        if let address, let excess = rates.excess(of: address, at: clock.moment.uptime) {
            throw refusal(excess, client, "Too many requests come from this address.")
        }
        if let handles, let path = request.head.path, handles.takes(path) {
            return await ask(handles, request, client)
        }
        // A query is no part of an endpoint, so a path with one is another path.
        guard request.head.path?.contains("?") != true, let path = WebPushPath(request.uri.path) else {
            throw .status(404, "There is nothing at this path.")
        }
        if request.method == .options { return WebPushAnswer.preflight() }
        switch (path, request.method) {
        case (.endpoint(let id), .get), (.endpoint(let id), .head):
            _ = try await target(id, address, link)
            return WebPushAnswer.found()
        case (.endpoint(let id), .post):
            do throws(Refusal) {
                let target = try await target(id, address, link)
                return await send(request, to: target, at: place, Peer(address, client), link)
            } catch {
                guard error.problem.status == 404, let ended = journal?.ended(id) else { throw error }
                return await answered(makeRecord(of: request, to: .device(ended), link), error, link)
            }
        case (.message(let name), .delete): return try await withdraw(name, address)
        case (.body(let id), .get), (.body(let id), .head):
            return try await fetch(id, counts: request.method == .get, address)
        case (.body, let method):
            throw Refusal(.methodNotAllowed(method.rawValue, allowed: ["GET", "HEAD", "OPTIONS"]))
        case (.relay(let path), .post):
            let target = try target(path, address)
            return await send(request, to: .relay(target), at: place, Peer(address, client), link)
        case (.endpoint, let method):
            throw Refusal(.methodNotAllowed(method.rawValue, allowed: ["GET", "HEAD", "OPTIONS", "POST"]))
        case (.message, let method):
            throw Refusal(.methodNotAllowed(method.rawValue, allowed: ["DELETE", "OPTIONS"]))
        case (.relay, let method):
            throw Refusal(.methodNotAllowed(method.rawValue, allowed: ["OPTIONS", "POST"]))
        }
    }

    func refusal(_ excess: WebPushRates.Excess, _ client: SocketAddress?, _ detail: String) -> Refusal {
        limitLog.limitExceeded(excess.limit, peer: client?.host)
        return Refusal(Problem(429, "\(detail) The limit is \(excess.limit.rawValue)."), retryAfter: excess.retryAfter)
    }

    // MARK: Sending

    /// A message that may be handed on.
    private struct Accepted {
        let message: WebPushMessage
        let ttl: UInt64
        let target: EndpointTarget
        let id: NotificationID
    }

    /// Who sends.
    private struct Peer {
        /// For the rates of addresses; nil if the system does not know it.
        let address: PeerAddress?
        let client: SocketAddress?

        init(_ address: PeerAddress?, _ client: SocketAddress?) { (self.address, self.client) = (address, client) }
    }

    private func makeRecord(
        of request: Request, to target: EndpointTarget, _ link: WebPushLink
    ) -> WebPushJournal.Record {
        var random = SystemRandomNumberGenerator()
        return WebPushJournal.Record(
            target: target, headers: request.headers, connection: link.number,
            id: NotificationID.random(using: &random))
    }

    private func send(
        _ request: Request, to target: EndpointTarget, at place: Place, _ peer: Peer, _ link: WebPushLink
    ) async -> Response {
        var record = makeRecord(of: request, to: target, link)
        let accepted: Accepted
        let created: Response
        do throws(Refusal) {
            accepted = try await judge(request, at: place, peer, &record)
            let location = place.origin + WebPushPath.messages + (try name(record.id, target.location))
            created = WebPushAnswer.created(ttl: accepted.ttl, location: location)
        } catch {
            return await answered(record, error, link)
        }
        let performance = makePerformance(of: record, created, nil, link)
        if let disturbed = await performance?.instead(of: created, reason: nil) { return disturbed }
        do throws(Refusal) {
            for _ in 0..<(performance?.times ?? 1) { try await submit(accepted, peer) }
        } catch {
            return await performance?.finish(error.response, reason: error.problem.detail) ?? error.response
        }
        return await performance?.finish(created, reason: nil) ?? created
    }

    /// The answer to a request that is refused, which the journal has too.
    private func answered(
        _ record: WebPushJournal.Record, _ refusal: Refusal, _ link: WebPushLink
    ) async -> Response {
        let (response, reason) = (refusal.response, refusal.problem.detail)
        guard let performance = makePerformance(of: record, response, reason, link) else { return response }
        if let disturbed = await performance.instead(of: response, reason: reason) { return disturbed }
        return await performance.finish(response, reason: reason)
    }

    private func makePerformance(
        of record: WebPushJournal.Record, _ response: Response, _ reason: String?, _ link: WebPushLink
    ) -> WebPushPerformance? {
        journal?.decided(record, response.status.code, reason: reason).map { WebPushPerformance($0, link, journal) }
    }

    /// Hands a message on, and waits for what becomes of it.
    private func submit(_ accepted: Accepted, _ peer: Peer) async throws(Refusal) {
        let (message, id, ttl) = (accepted.message, accepted.id, accepted.ttl)
        switch accepted.target {
        case .device(let subscription): try await submit(message, id, ttl, to: subscription)
        case .phone(let phone):
            do throws(PhoneRefusal) {
                try await phones?.send(message, id, timeToLive: ttl, to: phone)
            } catch {
                throw refusal(error, peer.client)
            }
        case .relay(let target):
            do throws(PhoneRefusal) {
                try await relay?.send(message, id, timeToLive: ttl, to: target, at: clock.moment.uptime)
            } catch {
                // Each guess costs a question to the upstream.
                if case .gone = error, let address = peer.address {
                    rates.countGuess(of: address, at: clock.moment.uptime)
                }
                throw refusal(error, peer.client)
            }
        }
    }

    /// Hands a message to `Delivery`.
    private func submit(
        _ message: WebPushMessage, _ id: NotificationID, _ ttl: UInt64, to subscription: WebPushSubscription
    ) async throws(Refusal) {
        guard let app = accounts.current.app(subscription.destination.app) else { throw .noEndpoint }
        let outcome = await OutcomeWaiter.outcome { answers in
            delivery.submit(
                message, id, to: subscription, of: app.bundleID, timeToLive: ttl, ticket: 0, answers: answers)
        }
        if case .rejected(let rejection) = outcome { throw Self.refusal(rejection) }
    }

    /// Checks a request to an endpoint, or to a relay's URL.
    private func judge(
        _ request: Request, at place: Place, _ peer: Peer, _ record: inout WebPushJournal.Record
    ) async throws(Refusal) -> Accepted {
        let target = record.target
        if let excess = excess(of: target, peer.address) {
            throw refusal(excess, peer.client, "Too many messages are sent to this URL.")
        }
        let (message, ttl) = try await read(request, for: target, &record)
        try checkSender(request.headers, target, place.tokens)
        return Accepted(message: message, ttl: ttl, target: target, id: record.id)
    }

    private func excess(of target: EndpointTarget, _ address: PeerAddress?) -> WebPushRates.Excess? {
        let now = clock.moment.uptime
        return switch target {
        case .device, .phone: rates.excess(ofEndpoint: target.digest, at: now)
        // The rate of the app as a whole comes last, so that what one address or token has too much uses up nothing of the others'.
        case .relay(let relay): rates.excess(ofRelay: address, relay.owner, relay.app.id, at: now)
        }
    }

    /// Reads the body and the fields of a message.
    private func read(
        _ request: Request, for target: EndpointTarget, _ record: inout WebPushJournal.Record
    ) async throws(Refusal) -> (WebPushMessage, ttl: UInt64) {
        do throws(Problem) {
            let body = try await request.bytes(upTo: WebPushMessage.maximumBodyBytes)
            record.bytes = body.count
            let fields = try MessageFields(
                request.headers, isEmpty: body.isEmpty, takesPlain: target.isPlain, usualTTL: target.usualTTL)
            let message = fields.message(body)
            record.message = message
            return (message, fields.ttl)
        } catch {
            throw Refusal(error)
        }
    }

    private func name(_ id: NotificationID, _ destination: Destination) throws(Refusal) -> String {
        do throws(TrustError) {
            return try MessageName(id, to: destination).text(seal)
        } catch {
            throw .status(503, "The message's URL cannot be made.")
        }
    }

    /// Finds what an endpoint leads to.
    private func target(
        _ id: EndpointID, _ address: PeerAddress?, _ link: WebPushLink
    ) async throws(Refusal) -> EndpointTarget {
        // A node that is cut off from its store does not know what has ended.
        guard accounts.isCurrent else { throw Self.refusal(.accountsNotCurrent) }
        do throws(StoreError) {
            let digest = EndpointKey.digest(of: id)
            if let found = try await lookUps.subscription(with: digest) {
                if environments.contains(found.destination.environment) { return .device(found) }
            } else if let found = try await phones?.find(digest) {
                if environments.contains(found.handle.environment) { return .phone(found) }
            } else if link.mayUseUnknown, let made = try await firstSight?(id).get() {
                return .device(made)
            }
        } catch {
            throw Self.refusal(Rejection(error))
        }
        if let address { rates.countGuess(of: address, at: clock.moment.uptime) }
        throw .noEndpoint
    }

    /// Checks the token, and that the subscription takes messages of its key.
    private func checkSender(
        _ fields: HTTPFields, _ target: EndpointTarget, _ tokens: VAPIDTokens
    ) throws(Refusal) {
        let key = try key(of: fields, toEndpoint: target.digest, tokens)
        guard let required = target.vapid else { return }
        guard let key else {
            throw .status(401, "This subscription takes messages with a token alone: Authorization: vapid (RFC 8292).")
        }
        guard key == required else {
            throw .status(403, "This subscription takes messages of another application server's key.")
        }
    }

    /// Checks the token.
    /// - Returns: its key; nil if the request has no token.
    private func key(
        of fields: HTTPFields, toEndpoint digest: [UInt8], _ tokens: VAPIDTokens
    ) throws(Refusal) -> [UInt8]? {
        do throws(VAPIDFault) {
            return try tokens.key(
                of: fields, toEndpoint: digest, now: Double(clock.machineTime.milliseconds) / 1000)
        } catch {
            throw .status(403, error.detail)
        }
    }

    /// What a sender is told. Senders forget a subscription at nearly any 4xx, so all that is not theirs is 503.
    static func refusal(_ rejection: Rejection) -> Refusal {
        switch rejection.reason {
        case .unregistered, .expiredToken, .badDeviceToken: .noEndpoint
        case .tooManyRequests:
            .status(429, "Too many messages are sent to this endpoint. The limit is \(Limit.tokenRate.rawValue).")
        default: .status(503, rejection.detail ?? "The service cannot take messages now.")
        }
    }

    /// What the sender of a message to a phone is told.
    private func refusal(_ refusal: PhoneRefusal, _ client: SocketAddress?) -> Refusal {
        switch refusal {
        case .gone(let detail): return .status(404, detail)
        case .busy(let detail, let retryAfter, let limit):
            if let limit { limitLog.limitExceeded(limit, peer: client?.host) }
            return Refusal(Problem(429, detail), retryAfter: retryAfter)
        case .unavailable(let detail, let retryAfter):
            return Refusal(Problem(503, detail), retryAfter: retryAfter)
        }
    }

    // MARK: Withdrawing

    private func withdraw(_ text: String, _ address: PeerAddress?) async throws(Refusal) -> Response {
        let isWithdrawn: Bool
        if let name = MessageName(text, seal), environments.contains(name.destination.environment) {
            do throws(StoreError) {
                isWithdrawn = try await delivery.withdraw(name.id, from: name.destination)
            } catch {
                throw Self.refusal(Rejection(error))
            }
        } else {
            if let address { rates.countGuess(of: address, at: clock.moment.uptime) }
            isWithdrawn = false
        }
        guard isWithdrawn else {
            throw .status(404, "There is no such message: it was delivered or has expired.")
        }
        return WebPushAnswer.empty(.noContent)
    }
}
