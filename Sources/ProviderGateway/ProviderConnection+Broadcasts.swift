import Delivery
import HTTP2
import NIOCore
import Notifications
import Trust

// Handles broadcasts: requests to `/4/broadcasts/apps/` and a bundle ID (docs/channels.md).
extension ProviderConnection {
    /// The largest payload of a broadcast, in bytes.
    static let maximumBroadcastBytes = 5120

    func broadcastReceived(_ bytes: Span<UInt8>, _ index: Int, _ stream: StreamID) {
        if requests[index].received > Self.maximumBroadcastBytes {
            guard case .failure(let rejection)? = requests[index].broadcast?.verdict else {
                let detail = "The payload is longer than \(Self.maximumBroadcastBytes) bytes."
                return reject(stream, Rejection(.payloadTooLarge, detail: detail))
            }
            return reject(stream, rejection)
        }
        if case .success? = requests[index].broadcast?.verdict { requests[index].body.append(bytes) }
    }

    /// Sends the broadcast of a request that has ended, or rejects it.
    func broadcast(_ stream: StreamID, _ index: Int) {
        guard let broadcast = requests[index].broadcast else { return }
        do throws(Rejection) {
            guard let addressed = try broadcast.verdict?.get(), let broadcasts = gateway.broadcasts else {
                throw .channelsOff
            }
            try checkAgain(requests[index], for: addressed.app)
            let notification = try gateway.rules.broadcast(
                requests[index], to: addressed.app, id: broadcast.identify(using: &random))
            requests[index].isSettled = true
            requests[index].body = []
            let connection = NIOLoopBound(self, eventLoop: eventLoop)
            Task {
                let rejection: Rejection?
                do throws(Rejection) {
                    try await broadcasts.send(notification, to: addressed.channel)
                    rejection = nil
                } catch {
                    rejection = error
                }
                connection.eventLoop.execute { connection.value.broadcastEnded(stream, rejection) }
            }
        } catch {
            reject(stream, error)
        }
    }

    private func broadcastEnded(_ stream: StreamID, _ rejection: Rejection?) {
        // The client may have cancelled the request meanwhile.
        guard let index = requests.index(of: stream), let broadcast = requests[index].broadcast else { return }
        if let rejection { return refuse(broadcast, stream, rejection) }
        requests[index].isAnswered = true
        let id = broadcast.identify(using: &random)
        session?.respond(stream, response.ofChannels(200, id, isUnique: true), body: nil)
    }

    func refuse(_ broadcast: BroadcastRequest, _ stream: StreamID, _ rejection: Rejection) {
        guard let index = requests.index(of: stream) else { return }
        requests[index].isSettled = true
        requests[index].isAnswered = true
        requests[index].body = []
        let id = broadcast.identify(using: &random)
        let topic = broadcast.bundleID?.topic(.liveActivity) ?? ""
        let subject = NotificationSubject(id: id, address: .unknown, topic: topic)
        gateway.deliveryLog.record(
            DeliveryEvent(time: gateway.clock.time, step: .rejected(rejection.reason), subject: subject))
        let headers = response.ofChannels(rejection.reason.status, id, hasBody: true)
        session?.respond(
            stream, headers, body: ProviderResponse.body(rejection, hasDetail: gateway.answersHaveDetail))
    }

    /// Checks the sender and the app again, because the accounts may have changed since the request's headers.
    private func checkAgain(_ request: ProviderRequest, for app: App) throws(Rejection) {
        guard memory.isCurrent(gateway) else { throw .accountsNotCurrent }
        guard memory.version(gateway) != request.accountsVersion else { return }
        let accounts = memory.current(gateway)
        switch request.sender {
        case .certificate(let certificate): try check(certificate)
        case .token(let token) where !token.isGood(in: accounts):
            let detail = "The key \(token.key) was revoked, deleted or changed."
            throw Rejection(.invalidProviderToken, detail: detail)
        default: break
        }
        guard accounts.app(app.id) != nil else {
            throw Rejection(.topicMismatch, detail: "The app \(app.bundleID) was deleted.")
        }
    }
}

extension RequestRules {
    /// Parses the body of a broadcast and creates the notification.
    func broadcast(_ request: ProviderRequest, to app: App, id: NotificationID) throws(Rejection) -> Notification {
        if request.isCompressed {
            throw Rejection(.payloadEmpty, detail: "The body must not be compressed.")
        }
        let payload: Payload
        do {
            payload = try Payload(request.body)
        } catch {
            throw Rejection(.payloadEmpty, detail: error.description)
        }
        if conformance == .strict, !payload.contents.contains(.aps) {
            throw Rejection(.payloadEmpty, detail: "The payload holds no aps dictionary.")
        }
        return Notification(
            id: id, topic: app.bundleID.topic(.liveActivity), pushType: .liveActivity,
            priority: request.priority.present ?? .immediate, expiration: request.expiration.present ?? .unspecified,
            payload: payload)
    }
}
