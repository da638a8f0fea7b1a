import Connections
import Crypto
import Delivery
import HTTP2
import NIOCore
import Notifications
import Storage
import Trust

// Requests about handles and grants.
extension ProviderConnection {
    func gatewayReceived(
        _ bytes: Span<UInt8>,
        _ request: ProviderRequest,
        _ stream: StreamID,
    ) {
        guard request.received <= GatewayRequest.maximumBodyBytes else {
            let detail = "The body is longer than \(GatewayRequest.maximumBodyBytes) bytes."
            return reject(stream, Rejection(.payloadTooLarge, detail: detail))
        }
        request.body.append(bytes)
    }

    /// Carries out a request whose body has ended.
    func gatewayEnded(_ stream: StreamID, _ request: ProviderRequest, _ asked: GatewayRequest) {
        do throws(Rejection) {
            let action = try asked.action(isPost: request.isPost, isDelete: request.isDelete)
            guard let grants = api.grants else { throw Rejection(.badPath) }
            guard memory.isCurrent(api) else { throw .accountsNotCurrent }
            guard grants.admits(peer, at: second.uptimeNanoseconds) else {
                api.limitLog.limitExceeded(.gatewayAddressRate, peer: peer)
                throw .tooManyGatewayRequests
            }
            let body = request.body
            request.isHandled = true
            request.body = []
            switch action {
            case .makeHandle: run(try handle(asked, body, grants), on: stream)
            case .removeHandle(let handle):
                let grant = try grant(asked, grants)
                run(
                    { () async throws(StoreError) in
                        guard try await grants.store.remove(handle, of: grant.id) else {
                            return .failure(Rejection(.badPath, detail: "The grant has no such handle."))
                        }
                        return .success(nil)
                    }, on: stream)
            case .makeGrant: run(try newGrant(body, grants), on: stream)
            }
        } catch {
            reject(stream, error)
        }
    }

    /// Answers with JSON, or without a body, or with a refusal.
    private typealias Work = @Sendable () async throws(StoreError) -> Result<String?, Rejection>

    private func run(_ work: @escaping Work, on stream: StreamID) {
        let connection = NIOLoopBound(self, eventLoop: eventLoop)
        Task {
            let result: Result<String?, Rejection>
            do throws(StoreError) {
                result = try await work()
            } catch {
                result = .failure(Rejection(.serviceUnavailable, detail: "The store cannot be used at present."))
            }
            connection.eventLoop.execute {
                switch result {
                case .success(let json): connection.value.answerGateway(stream, json)
                case .failure(let rejection): connection.value.refuseGateway(stream, rejection)
                }
            }
        }
    }

    // MARK: Handles

    /// The grant whose client key the request has.
    private func grant(_ asked: GatewayRequest, _ grants: GrantGateway) throws(Rejection) -> Grant {
        guard let key = asked.clientKey else {
            throw Rejection(.forbidden, detail: "The header authorization must be bearer and a client key (ck_…).")
        }
        guard let grant = memory.current(api).grant(withClientKey: key), grant.isActive,
            grant.limits.expires.map({ api.clock.time.milliseconds < $0 }) ?? true
        else {
            throw Rejection(.forbidden, detail: "No grant has this client key, or the grant is suspended or has ended.")
        }
        guard grants.admits(grant.id, at: second.uptimeNanoseconds) else {
            api.limitLog.limitExceeded(.gatewayGrantRate, peer: peer)
            throw .tooManyGatewayRequests
        }
        return grant
    }

    private func handle(_ asked: GatewayRequest, _ body: [UInt8], _ grants: GrantGateway) throws(Rejection) -> Work {
        let grant = try grant(asked, grants)
        guard let body = JSONObject(body), let bundleID = body[text: "bundleID"], let name = body[text: "environment"],
            let digits = body[text: "token"]
        else {
            throw Rejection(.payloadEmpty, detail: "The body must be JSON with bundleID, environment and token.")
        }
        guard bundleID == grant.bundleID.rawValue, let app = memory.current(api).apps[grant.bundleID] else {
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
            registered: api.clock.time)
        let limit = grant.limits.maximumHandles
        return { () async throws(StoreError) in
            do throws(StoreError) {
                try await grants.store.put([stored], limit: limit)
            } catch  where error == .tooManyHandles(limit) {
                return .failure(Rejection(.forbidden, detail: "The grant has \(limit) handles, and may not have more."))
            }
            return .success(#"{"handle":"\#(handle)"}"#)
        }
    }

    // MARK: Grants

    /// Makes a grant with an invitation.
    private func newGrant(_ body: [UInt8], _ grants: GrantGateway) throws(Rejection) -> Work {
        guard let body = JSONObject(body), let code = body[text: "code"].flatMap({ ActivationCode($0) }),
            let key = body[text: "publicKey"].flatMap({ SigningKey.publicKey(in: $0) })
        else {
            throw Rejection(
                .payloadEmpty,
                detail: "The body must be JSON with code and publicKey: a P-256 public key in PEM, or its uncompressed "
                    + "point (X9.63) in Base64.")
        }
        let (accounts, now) = (api.accounts, api.clock.machineTime)
        let publicKey = Array(key.x963Representation)
        return { () async throws(StoreError) in
            guard let invitation = try await grants.store.removeGrantInvitation(code.digest, at: now) else {
                return .failure(Rejection(.forbidden, detail: "The code is unknown, was used or has expired."))
            }
            var random = SystemRandomNumberGenerator()
            do throws(StoreError) {
                guard let app = accounts.current.apps[invitation.bundleID] else {
                    return .failure(Rejection(.topicDisallowed, detail: "The app \(invitation.bundleID) was deleted."))
                }
                let grant = Grant(
                    id: .random(using: &random), bundleID: app.bundleID, team: app.team, name: invitation.name,
                    key: .random(using: &random), publicKey: publicKey, clientKey: GrantClientKey().text,
                    limits: invitation.limits, made: now)
                _ = try await accounts.apply(.createGrant(grant))
                return .success(
                    #"{"grant":"\#(grant.id)","teamID":"\#(grant.team)","keyID":"\#(grant.key)","#
                        + #""clientKey":"\#(grant.clientKey)"}"#)
            } catch {
                // The grant was not made, so the instance may try again with the same code.
                try await grants.store.invite(invitation, at: now)
                guard error.code == .exists else { throw error }
                return .failure(Rejection(.forbidden, detail: "This key was used before: make a new one."))
            }
        }
    }

    // MARK: Answers

    private func answerGateway(_ stream: StreamID, _ json: String?) {
        guard let request = requests[stream], !request.isAnswered else { return }
        request.isAnswered = true
        var headers = HeaderBlock()
        headers.append(":status", "200")
        if json != nil { headers.append("content-type", "application/json") }
        session?.respond(stream, headers, body: json.map { ByteBuffer(string: $0) })
    }

    /// Refuses a request about handles or grants. The answer always says why, because the people who read it write apps and
    /// instances.
    func refuseGateway(_ stream: StreamID, _ rejection: Rejection) {
        guard let request = requests[stream], !request.isAnswered else { return }
        (request.isHandled, request.isAnswered, request.body) = (true, true, [])
        if !request.hasEnded { request.cutShort = second }
        var headers = HeaderBlock()
        headers.append(":status", String(rejection.reason.status))
        headers.append("content-type", "application/json")
        if rejection.reason == .tooManyRequests { headers.append("retry-after", "1") }
        let body = ProviderResponse.body(rejection, hasDetail: true)
        session?.respond(stream, headers, body: request.isHead ? nil : body)
    }
}

extension Rejection {
    fileprivate static let tooManyGatewayRequests = Rejection(
        .tooManyRequests, detail: "Too many requests about handles and grants: send again after a delay.")
}
