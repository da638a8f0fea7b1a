import Delivery
import HTTP2
import Matching
import NIOCore
import Notifications
import Trust

// Handles broadcasts: requests to `/4/broadcasts/apps/` and a bundle ID (docs/channels.md).
extension ProviderConnection {
    /// The largest payload of a broadcast, in bytes.
    static let maximumBroadcastBytes = 5120

    func broadcastReceived(_ bytes: Span<UInt8>, _ request: ProviderRequest, _ stream: StreamID) {
        if request.received > Self.maximumBroadcastBytes {
            guard case .failure(let rejection)? = request.broadcast?.verdict else {
                let detail = "The payload is longer than \(Self.maximumBroadcastBytes) bytes."
                request.keepBeginning(bytes, limit: Self.maximumBroadcastBytes)
                return reject(stream, Rejection(.payloadTooLarge, detail: detail))
            }
            return reject(stream, rejection)
        }
        if case .success? = request.broadcast?.verdict {
            request.body.append(bytes)
        } else {
            request.watched?.append(bytes)
        }
    }

    /// Sends the broadcast of a request that has ended, or rejects it.
    func broadcast(_ stream: StreamID, _ request: ProviderRequest) {
        guard let broadcast = request.broadcast else { return }
        do throws(Rejection) {
            guard let addressed = try broadcast.verdict?.get() else { throw Rejection(.internalServerError) }
            try memory.checkAgain(
                request, to: addressed.app.id, api: api,
                deletion: Rejection(.topicMismatch, detail: "The app \(addressed.app.bundleID) was deleted."))
            let notification = try rules.broadcast(
                request, to: addressed.app, id: broadcast.identify(using: &random))
            let decision = decision(request, nil, nil)
            request.isHandled = true
            request.body = []
            switch decision {
            case .proceed?, nil: send(notification, to: addressed.channel, on: stream)
            case .misbehave(_, let fault)?: carryOut(fault, on: stream, notification, to: addressed.channel)
            }
        } catch {
            reject(stream, error)
        }
    }

    /// Hands a broadcast over, and answers when it is stored or under way.
    /// - Parameter count: how many times devices get it; more than once only in a rehearsal.
    private func send(_ notification: Notification, to channel: ChannelKey, times count: Int = 1, on stream: StreamID) {
        guard let request = requests[stream] else { return }
        let broadcasts = api.broadcasts
        let connection = NIOLoopBound(self, eventLoop: eventLoop)
        // The journal has the outcome before the answer, also if the client does not wait for the answer.
        let (watched, observer) = (request.watched?.number, api.observation?.observer)
        Task {
            let outcome: Outcome
            do throws(Rejection) {
                let result = try await broadcasts.send(notification, to: channel)
                for _ in 1..<max(count, 1) { try await broadcasts.send(notification, to: channel) }
                if let watched { observer?.ended(watched, as: RequestOutcome(result)) }
                outcome = .accepted
            } catch {
                outcome = .rejected(error)
            }
            connection.eventLoop.execute {
                if case .rejected(let rejection) = outcome {
                    connection.value.recordRejection(of: notification.id, notification.topic, rejection)
                }
                connection.value.answer(stream, outcome)
            }
        }
    }

    /// Carries out a fault of a rehearsal on a broadcast that passed the checks.
    private func carryOut(
        _ fault: RequestFault,
        on stream: StreamID,
        _ notification: Notification,
        to channel: ChannelKey,
    ) {
        let copies = prepare(fault, on: stream)
        if copies > 0 { send(notification, to: channel, times: copies, on: stream) }
    }

    /// Records the rejection of a broadcast in the delivery log.
    func recordRejection(of id: NotificationID, _ topic: String, _ rejection: Rejection) {
        let subject = NotificationSubject(id: id, address: .unknown, topic: topic)
        api.deliveryLog.record(
            DeliveryEvent(time: api.clock.time, step: .rejected(rejection.reason), subject: subject))
    }
}

extension RequestOutcome {
    /// The outcome of a broadcast: what devices did with it is known of none.
    init(_ result: BroadcastResult) {
        self = result.receivers > 0 ? .delivered : result.isStored ? .stored : .dropped
    }
}

extension RequestRules {
    /// Parses the body of a broadcast and creates the notification.
    func broadcast(_ request: ProviderRequest, to app: App, id: NotificationID) throws(Rejection) -> Notification {
        let payload = try payload(of: request, for: .liveActivity)
        return Notification(
            id: id, topic: app.bundleID.topic(.liveActivity), pushType: .liveActivity,
            priority: request.priority.present ?? .immediate, expiration: request.expiration.present ?? .unspecified,
            payload: payload)
    }
}
