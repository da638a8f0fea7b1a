import Connections
import Credentials
import Crypto
package import Delivery
import Notifications
import Rates
import Storage
import Trust

/// Carries out requests about handles and grants. It knows nothing of sockets: the provider API's port and that of Web Push hand
/// their requests over.
package final class HandleRequests: Sendable {
    private let grants: GrantGateway
    private let accounts: any Accounts
    private let tokenKeys: SharedTokenKeys
    private let limitLog: LimitLog
    private let clock: ServiceClock

    init(
        _ grants: GrantGateway, accounts: any Accounts, tokenKeys: SharedTokenKeys, limitLog: LimitLog,
        clock: ServiceClock,
    ) {
        self.grants = grants
        self.accounts = accounts
        self.tokenKeys = tokenKeys
        self.limitLog = limitLog
        self.clock = clock
    }

    /// What is left to do of a request that was checked.
    package typealias Work = @Sendable () async -> HandleAnswer

    /// Answers with JSON, or without a body, or with a refusal.
    private typealias Fallible = @Sendable () async throws(StoreError) -> Result<String?, Refusal>

    /// Why a request is not carried out.
    enum Refusal: Error {
        case rejected(Rejection)
        /// What the accounts have stands in the way: 409 with the cause.
        case conflict(String)

        static func rejected(_ reason: Rejection.Reason, _ detail: String) -> Refusal {
            .rejected(Rejection(reason, detail: detail))
        }
    }

    /// Carries out a request that came over another port than the provider API's.
    /// - Parameters:
    ///   - path: not decoded.
    ///   - authorization: the header's value; nil if it is missing.
    ///   - body: nil if it is larger than ``HandleRequest/maximumBodyBytes``.
    ///   - peer: the client's address.
    package func answer(
        method: String,
        path: String,
        authorization: String?,
        body: [UInt8]?,
        from peer: String,
    ) async -> HandleAnswer {
        do throws(Rejection) {
            let request = try HandleRequest(method: method, path: path, authorization: authorization)
            guard let body else { throw .payloadTooLarge(HandleRequest.maximumBodyBytes) }
            return await (try work(request, body: body, from: peer))()
        } catch {
            return HandleAnswer(error)
        }
    }

    private static func document(_ body: [UInt8]) throws(Rejection) -> JSONObject {
        guard let object = JSONObject(document: body) else {
            throw Rejection(.payloadEmpty, detail: JSONObject.refusal(of: body, as: "The body"))
        }
        return object
    }

    private func excess(of limit: Limit, _ peer: String) -> Rejection {
        limitLog.limitExceeded(limit, peer: peer)
        return Rejection(
            .tooManyRequests,
            detail:
                "Too many requests about handles and grants: send again after a delay. The limit is \(limit.rawValue).")
    }

    /// Makes the checks that need no store.
    /// - Parameter peer: the client's address.
    func work(_ request: HandleRequest, body: [UInt8], from peer: String) throws(Rejection) -> Work {
        guard accounts.isCurrent else { throw .accountsNotCurrent }
        guard grants.admits(peer, at: clock.moment.uptime.nanoseconds) else {
            throw excess(of: .gatewayAddressRate, peer)
        }
        switch request.action {
        case .makeHandle: return answering(try handle(request, body, peer))
        case .removeHandle(let handle):
            let (grant, store) = (try grant(request, peer), grants.store)
            return answering { () async throws(StoreError) in
                try await store.remove(handle, of: grant.id)
                    ? .success(nil) : .failure(.rejected(.badPath, "The grant has no such handle."))
            }
        case .removeEndpoint(let handle, let name):
            let grant = try grant(request, peer)
            guard let store = grants.endpoints?.store else {
                throw Rejection(.badPath, detail: "The service has no Web Push, so the handle has no subscriptions.")
            }
            return answering { () async throws(StoreError) in
                try await store.removeEndpoint(named: name, of: handle, of: grant.id)
                    ? .success(nil)
                    : .failure(.rejected(.badPath, "The grant has no such handle, or it has no such subscription."))
            }
        case .makeGrant: return answering(try newGrant(body))
        }
    }

    private func answering(_ work: @escaping Fallible) -> Work {
        {
            do throws(StoreError) {
                switch try await work() {
                case .success(let json): return HandleAnswer(json: json)
                case .failure(.rejected(let rejection)): return HandleAnswer(rejection)
                case .failure(.conflict(let cause)): return HandleAnswer(conflict: cause)
                }
            } catch {
                return HandleAnswer(Rejection(.serviceUnavailable, detail: "The store cannot be used at present."))
            }
        }
    }

    // MARK: Handles

    /// The grant whose client key the request has.
    private func grant(
        _ request: HandleRequest, _ peer: String
    ) throws(Rejection) -> Grant {
        guard let key = request.clientKey else {
            throw Rejection(.forbidden, detail: "The header authorization must be bearer and a client key (ck_…).")
        }
        guard let grant = accounts.current.grant(withClientKey: key), grant.isActive, grant.isValid(at: clock.time)
        else {
            throw Rejection(.forbidden, detail: "No grant has this client key, or the grant is suspended or has ended.")
        }
        guard grants.admits(grant.id, at: clock.moment.uptime.nanoseconds) else {
            throw excess(of: .gatewayGrantRate, peer)
        }
        return grant
    }

    private func handle(
        _ request: HandleRequest, _ body: [UInt8], _ peer: String
    ) throws(Rejection) -> Fallible {
        let grant = try grant(request, peer)
        let body = try Self.document(body)
        guard let bundleID = body[text: "bundleID"], let name = body[text: "environment"],
            let digits = body[text: "token"]
        else {
            throw Rejection(.payloadEmpty, detail: "The body must be JSON with bundleID, environment and token.")
        }
        guard bundleID == grant.bundleID.rawValue, let app = accounts.current.apps[grant.bundleID] else {
            throw Rejection(.topicDisallowed, detail: "The grant is not for the app \(bundleID).")
        }
        guard let environment = Environment(rawValue: name) else {
            throw Rejection(.payloadEmpty, detail: "The environment must be development or production.")
        }
        guard let token = Hexadecimal.bytes(digits), NamedTokens.byteCounts.contains(token.count),
            let handle = grants.handleKey.handle(of: token, app: app.id, environment: environment, grant: grant.id)
        else {
            let allowed = NamedTokens.byteCounts
            throw Rejection(
                .badDeviceToken,
                detail: DeviceToken.fault(in: digits)
                    ?? "The token must be \(allowed.lowerBound) to \(allowed.upperBound) bytes in hexadecimal digits.")
        }
        let sealed: [UInt8]
        do {
            sealed = try grants.handleKey.seal(token, of: handle)
        } catch {
            throw Rejection(.internalServerError)
        }
        let stored = StoredHandle(
            handle: handle, grant: grant.id, app: app.id, environment: environment, token: sealed,
            registered: clock.time)
        let endpoint = try endpoint(try EndpointWish.read(body), handle, app, environment)
        let code = try code(body[text: "code"], of: grant)
        let detail = detail(of: token, app, environment)
        let limit = grant.limits.maximumHandles
        return { [self] () async throws(StoreError) in
            let made: HandleEndpoint?
            do throws(StoreError) {
                made = try await put(stored, limit: limit, code, endpoint?.new)
            } catch  where error == .tooManyHandles(limit) {
                return .failure(.rejected(.forbidden, "The grant has \(limit) handles, and may not have more."))
            } catch  where error == .codeWasUsed || error == .tooManyEndpoints {
                return .failure(.rejected(.forbidden, error.cause))
            }
            guard let made, let endpoint else { return .success(#"{"handle":"\#(handle)"\#(detail)}"#) }
            let url = JSONString.quoted(endpoint.maker.url(of: made, in: environment, at: endpoint.origin))
            return .success(#"{"handle":"\#(handle)","endpoint":\#(url)\#(detail)}"#)
        }
    }

    /// An endpoint that a request asks for.
    private struct WantedEndpoint: Sendable {
        /// What is stored if the handle has none of this name.
        let new: HandleEndpoint
        let maker: PhoneEndpoints
        let origin: String
    }

    /// - Returns: nil if the request asks for none.
    private func endpoint(
        _ wish: EndpointWish?, _ handle: Handle, _ app: App, _ environment: Environment
    ) throws(Rejection) -> WantedEndpoint? {
        guard let wish else { return nil }
        guard let maker = grants.endpoints else {
            throw Rejection(
                .featureNotEnabled, detail: "The service has no Web Push: its option --web-push switches it on.")
        }
        guard maker.environments.contains(environment) else {
            throw Rejection(
                .featureNotEnabled, detail: "The service does not serve the \(environment.rawValue) environment.")
        }
        guard let origin = maker.origin else {
            throw Rejection(.serviceUnavailable, detail: "The service is starting.")
        }
        guard isForwarded(app, environment) else {
            throw Rejection(
                .featureNotEnabled,
                detail:
                    "The app \(app.bundleID) has no upstream in the \(environment.rawValue) environment. A device of this "
                    + "service makes subscriptions at its courier.")
        }
        guard let new = maker.make(wish, for: handle, in: environment) else { throw Rejection(.internalServerError) }
        return WantedEndpoint(new: new, maker: maker, origin: origin)
    }

    private func isForwarded(_ app: App, _ environment: Environment) -> Bool {
        accounts.current.upstreams[UpstreamPlace(bundleID: app.bundleID, environment: environment)] != nil
    }

    /// A member of the answer that says what will be wrong with each push to the handle; empty if nothing is known.
    private func detail(of token: [UInt8], _ app: App, _ environment: Environment) -> String {
        guard !isForwarded(app, environment), Environment.allCases.contains(where: { isForwarded(app, $0) }),
            DeviceToken(token).flatMap({ tokenKeys.current.open($0, environment: environment) }) == nil
        else { return "" }
        return #","detail":"\#(Rejection.detailWithoutUpstream(app.bundleID, environment))""#
    }

    private func put(
        _ stored: StoredHandle, limit: Int, _ code: UsedCode?, _ endpoint: HandleEndpoint?
    ) async throws(StoreError) -> HandleEndpoint? {
        do throws(StoreError) {
            return try await grants.store.put([stored], limit: limit, code: code, endpoint: endpoint)
        } catch  where error == .tooManyHandles(limit) {
            // Some of them may have ended since the last look.
            await grants.upkeep.catchUp()
            return try await grants.store.put([stored], limit: limit, code: code, endpoint: endpoint)
        }
    }

    /// Verifies the code that the registration of a handle needs.
    /// - Returns: nil if the grant needs none.
    private func code(
        _ text: String?, of grant: Grant
    ) throws(Rejection) -> UsedCode? {
        guard grant.limits.registration == .code else { return nil }
        guard let text else {
            throw Rejection(
                .forbidden, detail: "The grant's registration is code: the body needs code, a JWT of the instance.")
        }
        let now = clock.time
        let code = try RegistrationCode(
            text, now: Double(clock.time(of: grant.team).milliseconds) / 1000,
            teamTime: { [clock] in clock.teamSeconds(ofClient: $0, of: $1) }, key: { ProviderKey(grant, $0) })
        return UsedCode(grant: grant.id, digest: code.digest, expires: code.expires, now: now)
    }

    // MARK: Grants

    /// Makes a grant with an invitation, or answers again with the one that was made with the same code and key.
    private func newGrant(
        _ body: [UInt8]
    ) throws(Rejection) -> Fallible {
        let body = try Self.document(body)
        guard let code = body[text: "code"].flatMap({ ActivationCode($0) }), let text = body[text: "publicKey"] else {
            throw Rejection(
                .payloadEmpty,
                detail: "The body must be JSON with code and publicKey: a P-256 public key in PEM, or its uncompressed "
                    + "point (X9.63) in Base64.")
        }
        let key: P256.Signing.PublicKey
        do throws(TrustError) {
            key = try SigningKey.publicKey(in: text)
        } catch {
            throw Rejection(.payloadEmpty, detail: "The publicKey cannot be used: \(error.clause).")
        }
        let invited = InvitedGrant(
            accounts: accounts, store: grants.store, limit: grants.upkeep.rules.grants, now: clock.machineTime,
            publicKey: Array(key.x963Representation))
        return { () async throws(StoreError) in
            try await invited.make(code.digest).map { grant, key in
                #"{"grant":"\#(grant.id)","teamID":"\#(grant.team)","keyID":"\#(key)","#
                    + #""clientKey":"\#(grant.clientKey)","bundleID":"\#(grant.bundleID)"}"#
            }
        }
    }
}
