import Connections
import Crypto
import Delivery
import HTTP2
import NIOCore
import Notifications
import Storage
import Trust

/// Carries out requests about handles and grants. They are no notifications: the delivery log and the journal have none of
/// them.
enum HandleRoute {
    /// Carries out a request whose body has ended.
    static func ended(
        _ request: ProviderRequest,
        _ asked: HandleRequest,
        on stream: StreamID,
        of connection: ProviderConnection,
    ) {
        do throws(Rejection) {
            guard let grants = connection.api.grants else { throw Rejection(.badPath) }
            guard connection.memory.isCurrent(connection.api) else { throw .accountsNotCurrent }
            guard grants.admits(connection.peer, at: connection.second.uptimeNanoseconds) else {
                connection.api.limitLog.limitExceeded(.gatewayAddressRate, peer: connection.peer)
                throw .tooManyGatewayRequests
            }
            let body = request.body
            request.isHandled = true
            request.body = []
            switch asked.action {
            case .makeHandle: run(try handle(asked, body, grants, connection), on: stream, of: connection)
            case .removeHandle(let handle):
                let grant = try grant(asked, grants, connection)
                run(
                    { () async throws(StoreError) in
                        guard try await grants.store.remove(handle, of: grant.id) else {
                            return .failure(.rejected(.badPath, "The grant has no such handle."))
                        }
                        return .success(nil)
                    }, on: stream, of: connection)
            case .makeGrant: run(try newGrant(body, grants, connection.api), on: stream, of: connection)
            }
        } catch {
            refuse(request, on: stream, error, of: connection)
        }
    }

    /// Answers with JSON, or without a body, or with a refusal.
    private typealias Work = @Sendable () async throws(StoreError) -> Result<String?, Refusal>

    /// Why a request is not carried out.
    enum Refusal: Error {
        case rejected(Rejection)
        /// What the accounts have stands in the way: 409 with the cause.
        case conflict(String)

        static func rejected(_ reason: Rejection.Reason, _ detail: String) -> Refusal {
            .rejected(Rejection(reason, detail: detail))
        }
    }

    private static func run(_ work: @escaping Work, on stream: StreamID, of connection: ProviderConnection) {
        let connection = NIOLoopBound(connection, eventLoop: connection.eventLoop)
        Task {
            let result: Result<String?, Refusal>
            do throws(StoreError) {
                result = try await work()
            } catch {
                result = .failure(.rejected(.serviceUnavailable, "The store cannot be used at present."))
            }
            connection.eventLoop.execute {
                let connection = connection.value
                guard let request = connection.requests[stream] else { return }
                switch result {
                case .success(let json): answer(request, on: stream, json, of: connection)
                case .failure(.rejected(let rejection)): refuse(request, on: stream, rejection, of: connection)
                case .failure(.conflict(let cause)): conflict(request, on: stream, cause, of: connection)
                }
            }
        }
    }

    // MARK: Handles

    /// The grant whose client key the request has.
    private static func grant(
        _ asked: HandleRequest,
        _ grants: GrantGateway,
        _ connection: ProviderConnection,
    ) throws(Rejection) -> Grant {
        let api = connection.api
        guard let key = asked.clientKey else {
            throw Rejection(.forbidden, detail: "The header authorization must be bearer and a client key (ck_…).")
        }
        guard let grant = connection.memory.current(api).grant(withClientKey: key), grant.isActive,
            grant.limits.expires.map({ api.clock.time.milliseconds < $0 }) ?? true
        else {
            throw Rejection(.forbidden, detail: "No grant has this client key, or the grant is suspended or has ended.")
        }
        guard grants.admits(grant.id, at: connection.second.uptimeNanoseconds) else {
            api.limitLog.limitExceeded(.gatewayGrantRate, peer: connection.peer)
            throw .tooManyGatewayRequests
        }
        return grant
    }

    private static func handle(
        _ asked: HandleRequest,
        _ body: [UInt8],
        _ grants: GrantGateway,
        _ connection: ProviderConnection,
    ) throws(Rejection) -> Work {
        let grant = try grant(asked, grants, connection)
        guard let body = JSONObject(body), let bundleID = body[text: "bundleID"], let name = body[text: "environment"],
            let digits = body[text: "token"]
        else {
            throw Rejection(.payloadEmpty, detail: "The body must be JSON with bundleID, environment and token.")
        }
        guard bundleID == grant.bundleID.rawValue,
            let app = connection.memory.current(connection.api).apps[grant.bundleID]
        else {
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
            registered: connection.api.clock.time)
        let code = try code(body[text: "code"], of: grant, connection.api.clock)
        let detail = detail(of: token, app, environment, connection.api)
        let limit = grant.limits.maximumHandles
        return { () async throws(StoreError) in
            do throws(StoreError) {
                try await put(stored, limit: limit, code, grants)
            } catch  where error == .tooManyHandles(limit) {
                return .failure(.rejected(.forbidden, "The grant has \(limit) handles, and may not have more."))
            } catch  where error == .codeWasUsed {
                return .failure(.rejected(.forbidden, error.cause))
            }
            return .success(#"{"handle":"\#(handle)"\#(detail)}"#)
        }
    }

    /// A member of the answer that says what will be wrong with each push to the handle; empty if nothing is known.
    private static func detail(of token: [UInt8], _ app: App, _ environment: Environment, _ api: ProviderAPI) -> String
    {
        let upstreams = api.accounts.current.upstreams
        func isForwarded(_ environment: Environment) -> Bool {
            upstreams[UpstreamPlace(bundleID: app.bundleID, environment: environment)] != nil
        }
        guard !isForwarded(environment), Environment.allCases.contains(where: isForwarded),
            DeviceToken(token).flatMap({ api.rules.tokenKeys.current.open($0, environment: environment) }) == nil
        else { return "" }
        return #","detail":"\#(Rejection.detailWithoutUpstream(app.bundleID, environment))""#
    }

    private static func put(
        _ stored: StoredHandle,
        limit: Int,
        _ code: UsedCode?,
        _ grants: GrantGateway,
    ) async throws(StoreError) {
        do throws(StoreError) {
            try await grants.store.put([stored], limit: limit, code: code)
        } catch  where error == .tooManyHandles(limit) {
            // Some of them may have ended since the last look.
            await grants.upkeep.catchUp()
            try await grants.store.put([stored], limit: limit, code: code)
        }
    }

    /// Verifies the code that the registration of a handle needs.
    /// - Returns: nil if the grant needs none.
    private static func code(
        _ text: String?,
        of grant: Grant,
        _ clock: ServiceClock,
    ) throws(Rejection) -> UsedCode? {
        guard grant.limits.registration == .code else { return nil }
        guard let text else {
            throw Rejection(
                .forbidden, detail: "The grant's registration is code: the body needs code, a JWT of the instance.")
        }
        let now = clock.time
        let code = try RegistrationCode(
            text, now: Double(clock.time(of: grant.team).milliseconds) / 1000,
            teamTime: { clock.teamSeconds(ofClient: $0, of: $1) }, key: { ProviderKey(grant, $0) })
        return UsedCode(grant: grant.id, digest: code.digest, expires: code.expires, now: now)
    }

    // MARK: Grants

    /// Makes a grant with an invitation, or answers again with the one that was made with the same code and key.
    private static func newGrant(
        _ body: [UInt8],
        _ grants: GrantGateway,
        _ api: ProviderAPI,
    ) throws(Rejection) -> Work {
        guard let body = JSONObject(body), let code = body[text: "code"].flatMap({ ActivationCode($0) }),
            let key = body[text: "publicKey"].flatMap({ try? SigningKey.publicKey(in: $0) })
        else {
            throw Rejection(
                .payloadEmpty,
                detail: "The body must be JSON with code and publicKey: a P-256 public key in PEM, or its uncompressed "
                    + "point (X9.63) in Base64.")
        }
        let invited = InvitedGrant(
            accounts: api.accounts, store: grants.store, limit: grants.upkeep.rules.grants, now: api.clock.machineTime,
            publicKey: Array(key.x963Representation))
        return { () async throws(StoreError) in
            try await invited.make(code.digest).map { grant, key in
                #"{"grant":"\#(grant.id)","teamID":"\#(grant.team)","keyID":"\#(key)","#
                    + #""clientKey":"\#(grant.clientKey)","bundleID":"\#(grant.bundleID)"}"#
            }
        }
    }

    // MARK: Answers

    private static func headers(_ status: Int, isJSON: Bool = true) -> FieldList {
        var headers = FieldList()
        headers.append(":status", String(status))
        if isJSON { headers.append("content-type", "application/json") }
        return headers
    }

    private static func answer(
        _ request: ProviderRequest,
        on stream: StreamID,
        _ json: String?,
        of connection: ProviderConnection,
    ) {
        guard !request.isAnswered else { return }
        request.isAnswered = true
        connection.session?.respond(
            stream, headers(200, isJSON: json != nil), body: json.map { ByteBuffer(string: $0) })
    }

    /// Answers with 409. No reason of the table has this status, so it is that of HTTP (RFC 9110, 15.5.10).
    private static func conflict(
        _ request: ProviderRequest,
        on stream: StreamID,
        _ cause: String,
        of connection: ProviderConnection,
    ) {
        guard !request.isAnswered else { return }
        connection.markAnswered(request)
        let body = ByteBuffer(string: #"{"reason":"Conflict","detail":\#(JSONString.quoted(cause))}"#)
        connection.session?.respond(stream, headers(409), body: body)
    }

    /// Refuses a request. The answer always says why, because the people who read it write apps and instances.
    static func refuse(
        _ request: ProviderRequest,
        on stream: StreamID,
        _ rejection: Rejection,
        of connection: ProviderConnection,
    ) {
        guard !request.isAnswered else { return }
        connection.markAnswered(request)
        var headers = headers(rejection.reason.status)
        if rejection.reason == .tooManyRequests { headers.append("retry-after", "1") }
        let body = ProviderResponse.body(rejection, hasDetail: true)
        connection.session?.respond(stream, headers, body: request.isHead ? nil : body)
    }
}

extension Rejection {
    fileprivate static let tooManyGatewayRequests = Rejection(
        .tooManyRequests, detail: "Too many requests about handles and grants: send again after a delay.")
}
