import Connections
import Delivery
import HTTP2
import NIOCore
import Notifications
import Storage
import Trust

/// Looks the handles of grants' notifications up (docs/gateway.md). Those of all requests that one read completes are
/// looked up together. Then each notification goes on to its device or to the upstream.
enum GrantRoute {
    /// Judges a request whose body has ended, and has its handle looked up.
    static func ended(
        _ request: ProviderRequest,
        _ push: GrantPush,
        on stream: StreamID,
        of connection: ProviderConnection,
    ) {
        do throws(Rejection) {
            guard let grants = connection.api.grants else { throw Rejection(.forbidden) }
            try connection.checkAgain(request, to: push.app.id, deletion: .deleted(push.topic))
            if let upstream = push.upstream { try UpstreamRoute.check(request, upstream, of: connection) }
            try connection.rules.checkBody(of: request, for: push.upstream)
            try push.grant.limits.check(payload: request.body)
            if let refusal = grants.meter.spend(push.grant) {
                connection.api.limitLog.limitExceeded(.grantRate, peer: connection.peer)
                return connection.reject(stream, refusal.rejection, retryAfter: refusal.retryAfter)
            }
            request.isHandled = true
            if let stored = grants.store.remembered(push.handle) {
                return try send(request, push, to: stored, on: stream, of: connection)
            }
            connection.lookUps.append((stream, push.handle))
        } catch {
            connection.reject(stream, error)
        }
    }

    /// Looks up the handles of all requests of a batch.
    static func submitBatch(of connection: ProviderConnection) {
        guard !connection.lookUps.isEmpty, let store = connection.api.grants?.store else { return }
        let sought = connection.lookUps
        connection.lookUps.removeAll(keepingCapacity: true)
        let connection = NIOLoopBound(connection, eventLoop: connection.eventLoop)
        Task {
            let found: Result<[StoredHandle?], StoreError>
            do throws(StoreError) {
                found = .success(try await store.handles(sought.map(\.1)))
            } catch {
                found = .failure(error)
            }
            connection.eventLoop.execute { lookedUp(sought, found, of: connection.value) }
        }
    }

    private static func lookedUp(
        _ sought: [(StreamID, Handle)],
        _ found: Result<[StoredHandle?], StoreError>,
        of connection: ProviderConnection,
    ) {
        for (index, (stream, _)) in sought.enumerated() {
            // The client may have cancelled the request meanwhile.
            guard let request = connection.requests[stream], case .grant(let push) = request.kind, !request.isAnswered
            else { continue }
            do throws(Rejection) {
                guard case .success(let handles) = found else {
                    throw Rejection(.serviceUnavailable, detail: "The handle could not be looked up.")
                }
                guard let stored = handles[index] else { throw .noHandle }
                // The accounts may have changed since the handle is being looked up.
                try connection.checkAgain(request, to: push.app.id, deletion: .deleted(push.topic))
                try send(request, push, to: stored, on: stream, of: connection)
            } catch {
                connection.reject(stream, error)
            }
        }
        DeviceRoute.submitBatch(of: connection)
        UpstreamRoute.submitBatch(of: connection)
        connection.memory.endBatch()
    }

    /// Sends to the device token of a handle.
    private static func send(
        _ request: ProviderRequest,
        _ push: GrantPush,
        to stored: StoredHandle,
        on stream: StreamID,
        of connection: ProviderConnection,
    ) throws(Rejection) {
        guard let grants = connection.api.grants else { throw Rejection(.forbidden) }
        let sweep = HandleSweep(rules: grants.upkeep.rules, at: connection.api.clock.time)
        let refusal = Rejection.ofHandle(
            stored, push.grant.id, connection.api.environment, sweep, connection.api.clock)
        if let refusal { throw refusal }
        guard let token = grants.handleKey.open(stored.token, of: stored.handle) else {
            throw Rejection(.internalServerError)
        }
        request.handle = stored.handle
        if let upstream = push.upstream {
            upstream.token = token
            request.kind = .upstream(upstream)
            return UpstreamRoute.send(request, upstream, on: stream, of: connection)
        }
        // The app's notifications are delivered here, so this service should have made the device token.
        request.path = DeviceToken(token).map { ProviderRequest.Path.deviceToken($0) } ?? .otherDeviceToken(token)
        connection.decide(request)
        if case .refusal(let refusal) = request.kind, refusal.reason == .badDeviceToken,
            DeviceToken(token).flatMap(connection.rules.detailOfOtherEnvironment) == nil
        {
            // It is a device token of an upstream that the app has no more: the gateway's own trouble. After a 400 the instance
            // would forget the handle.
            throw Rejection(
                .serviceUnavailable,
                detail: Rejection.detailWithoutUpstream(push.app.bundleID, connection.api.environment))
        }
        request.isHandled = false
        DeviceRoute.ended(request, on: stream, of: connection)
    }

    // MARK: Answers

    /// Counts an answer to a request of a grant.
    static func count(_ outcome: String, of request: ProviderRequest, _ grants: GrantGateway?) {
        guard let grant = request.grantID else { return }
        grants?.meter.answered(grant, outcome)
    }

    /// Takes note of an upstream's answer before it is written. If the upstream does not know the device token any more, the
    /// handle is answered the same from now on.
    static func answered(
        _ request: ProviderRequest,
        _ push: UpstreamPush,
        _ answer: UpstreamAnswer,
        of connection: ProviderConnection,
    ) {
        guard push.grant != nil else { return }
        let known = answer.reason.flatMap(Rejection.Reason.init(rawValue:))
        count(answer.status == 200 ? "200" : known?.rawValue ?? otherOutcome, of: request, connection.api.grants)
        let clock = connection.api.clock
        guard let handle = request.handle, let store = connection.api.grants?.store,
            let end = HandleEnd(answer, otherwise: push.time ?? clock.time, clock)
        else { return }
        // If this fails, the next request is forwarded, and the upstream gives the same answer.
        Task { try? await store.end(handle, end) }
    }

    /// The outcome of an answer whose reason is not in the table. There is one for all, so that an upstream cannot make any
    /// number of them.
    private static let otherOutcome = "other"
}
