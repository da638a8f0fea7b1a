import Connections
import Delivery
import HTTP2
import NIOCore
import Notifications
import Storage
import Trust

// Requests that were sent with the key of a grant (docs/gateway.md).
extension ProviderConnection {
    func grantedReceived(
        _ bytes: Span<UInt8>,
        _ request: ProviderRequest,
        _ granted: GrantedRequest,
        _ stream: StreamID,
    ) {
        guard let topic = granted.address?.topic else {
            // Do not keep the body. After as many bytes as the largest payload has, do not wait for its end either.
            if request.received > Payload.maximumVoIPBytes, let refusal = granted.refusal { reject(stream, refusal) }
            return
        }
        do throws(Rejection) {
            try checkSize(request, request.forwarded, limit: topic.payloadLimit)
        } catch {
            request.keepBeginning(bytes, limit: topic.payloadLimit)
            return reject(stream, error)
        }
        request.body.append(bytes)
    }

    /// Judges a request whose body has ended, and has its handle looked up.
    func grantEnded(_ stream: StreamID, _ request: ProviderRequest, _ granted: GrantedRequest) {
        do throws(Rejection) {
            guard let grants = api.grants else { throw Rejection(.forbidden) }
            if let refusal = granted.refusal { throw refusal }
            let handle = try checkAgain(request, granted).handle
            if let forwarded = request.forwarded { try checkForwarding(request, forwarded) }
            try checkPayload(request, request.forwarded)
            try granted.grant.limits.check(payload: request.body)
            if let refusal = grants.meter.spend(granted.grant) {
                api.limitLog.limitExceeded(.grantRate, peer: peer)
                return reject(stream, refusal.rejection, retryAfter: refusal.retryAfter)
            }
            request.isHandled = true
            lookUps.append((stream, handle))
        } catch {
            reject(stream, error)
        }
    }

    /// Checks the grant and its app again, because the accounts may have changed since the request's headers, or since its
    /// handle is being looked up.
    @discardableResult
    private func checkAgain(
        _ request: ProviderRequest,
        _ granted: GrantedRequest,
    ) throws(Rejection) -> (topic: AddressedTopic, handle: Handle) {
        guard let address = granted.address, let app = address.topic.app else {
            throw Rejection(.internalServerError)
        }
        try memory.checkAgain(
            request, to: app.id, api: api,
            deletion: Rejection(.topicDisallowed, detail: "The app with the topic \(address.topic.name) was deleted."))
        return address
    }

    /// Looks up the handles of all requests of a batch.
    func lookUpHandles() {
        guard !lookUps.isEmpty, let store = api.grants?.store else { return }
        let sought = lookUps
        lookUps.removeAll(keepingCapacity: true)
        let connection = NIOLoopBound(self, eventLoop: eventLoop)
        Task {
            let found: Result<[StoredHandle?], StoreError>
            do throws(StoreError) {
                found = .success(try await store.handles(sought.map(\.1)))
            } catch {
                found = .failure(error)
            }
            connection.eventLoop.execute { connection.value.lookedUp(sought, found) }
        }
    }

    private func lookedUp(_ sought: [(StreamID, Handle)], _ found: Result<[StoredHandle?], StoreError>) {
        for (index, (stream, _)) in sought.enumerated() {
            // The client may have cancelled the request meanwhile.
            guard let request = requests[stream], let granted = request.granted, !request.isAnswered else { continue }
            do throws(Rejection) {
                guard case .success(let handles) = found else {
                    throw Rejection(.serviceUnavailable, detail: "The handle could not be looked up.")
                }
                guard let stored = handles[index] else { throw .noHandle }
                try checkAgain(request, granted)
                try send(stream, request, granted, to: stored)
            } catch {
                reject(stream, error)
            }
        }
        submitBatch()
        submitForwards()
        memory.endBatch()
    }

    /// Sends to the device token of a handle.
    private func send(
        _ stream: StreamID,
        _ request: ProviderRequest,
        _ granted: GrantedRequest,
        to stored: StoredHandle,
    ) throws(Rejection) {
        if let refusal = Rejection.ofHandle(stored, granted.grant.id, api.environment) { throw refusal }
        guard let token = api.grants?.handleKey.open(stored.token, of: stored.handle) else {
            throw Rejection(.internalServerError)
        }
        if let forwarded = request.forwarded {
            return sendForward(
                stream, request, forwarded, token: token, share: ForwardingShare(rawValue: granted.grant.id.rawValue))
        }
        // The app's notifications are delivered here, so this service has made the device token.
        granted.isResolved = true
        request.path = DeviceToken(token).map { ProviderRequest.Path.deviceToken($0) } ?? .otherDeviceToken(token)
        request.decide(by: rules)
        request.isHandled = false
        streamEnded(stream)
    }

    /// Counts an answer to a request of a grant.
    func countAnswer(to request: ProviderRequest, _ outcome: String) {
        guard let grant = request.grantID else { return }
        api.grants?.meter.answered(grant, outcome)
    }

    /// Takes note of an upstream's answer before it is written. If the upstream does not know the device token any more, the
    /// handle is answered the same from now on. `BadDeviceToken` is not remembered: a wrong setting of the upstream causes
    /// it for every handle.
    func grantAnswered(_ request: ProviderRequest, status: Int, reason: String?, timestamp: UInt64?) {
        guard let granted = request.granted else { return }
        let known = reason.flatMap(Rejection.Reason.init(rawValue:))
        countAnswer(to: request, status == 200 ? "200" : known?.rawValue ?? Self.otherOutcome)
        guard status == 410, let known, let handle = granted.address?.handle, let store = api.grants?.store else {
            return
        }
        let end = HandleEnd(reason: known, moment: timestamp.map { Timestamp(milliseconds: $0) } ?? granted.time)
        // If this fails, the next request is forwarded, and the upstream gives the same answer.
        Task { try? await store.end(handle, end) }
    }

    /// The outcome of an answer whose reason is not in the table. There is one for all, so that an upstream cannot make any
    /// number of them.
    private static let otherOutcome = "other"
}
