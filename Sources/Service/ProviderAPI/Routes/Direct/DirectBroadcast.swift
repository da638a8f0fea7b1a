import Delivery
package import Matching
package import Notifications
import Trust

/// A broadcast from the management API. It has the values that a provider's request has in its path and its headers, as
/// text.
package struct DirectBroadcast: Sendable {
    package var bundleID: String
    package var channelID: String
    package var payload: [UInt8]
    package var id: String?
    package var expiration: UInt64?
    package var priority: Int?
    package var pushType: String?

    package init(bundleID: String, channelID: String, payload: [UInt8]) {
        self.bundleID = bundleID
        self.channelID = channelID
        self.payload = payload
    }
}

extension ProviderAPI {
    /// Sends a broadcast after all checks of the provider API, except those of the sender.
    /// - Parameter decided: called with the decision, before it has any effect.
    /// - Returns: the broadcast's identifier, and what became of it or why it was rejected.
    package func submit(
        _ direct: DirectBroadcast,
        decided: (RequestFacts) -> Void,
    ) async -> (id: NotificationID, outcome: Result<RequestOutcome, Rejection>) {
        let request = request(direct)
        let id = request.id.present ?? newIdentifier()
        let checked: Checked
        do throws(Rejection) {
            checked = try self.checked(request, id: id, by: rules)
        } catch {
            decided(facts(of: request, direct, id, error))
            return (id, .failure(record(error, of: request, id)))
        }
        decided(facts(of: request, direct, id, nil))
        do throws(Rejection) {
            return (id, .success(RequestOutcome(try await broadcasts.send(checked.notification, to: checked.channel))))
        } catch {
            return (id, .failure(record(error, of: request, id)))
        }
    }

    /// Checks a broadcast by these rules and by those of `strict`, and does not send it. It does not count for any rate.
    package func check(_ direct: DirectBroadcast) async -> DirectCheck {
        let app = BundleID(rawValue: direct.bundleID).flatMap { accounts.current.apps[$0] }
        return DirectCheck(
            rejection: await rejection(of: direct, by: rules),
            strictRejection: await rejection(of: direct, by: strictRules),
            bytes: direct.payload.count, maximumBytes: app.map { _ in BroadcastPush.maximumBytes })
    }

    /// A broadcast that has passed all checks but the channel's.
    private struct Checked {
        let notification: Notification
        let channel: ChannelKey
    }

    private func rejection(of direct: DirectBroadcast, by rules: RequestRules) async -> Rejection? {
        do throws(Rejection) {
            let checked = try checked(request(direct), id: newIdentifier(), by: rules)
            try await broadcasts.check(checked.notification, to: checked.channel)
            return nil
        } catch {
            return error
        }
    }

    /// The request that a provider would have sent.
    private func request(_ direct: DirectBroadcast) -> ProviderRequest {
        ProviderRequest([(.path, direct.path)] + direct.headers, direct.payload)
    }

    private func checked(
        _ request: ProviderRequest,
        id: NotificationID,
        by rules: RequestRules,
    ) throws(Rejection) -> Checked {
        guard case .broadcast(let push) = try decide(request, by: rules) else { throw Rejection(.badPath) }
        guard request.body.count <= BroadcastPush.maximumBytes else {
            throw .payloadTooLarge(BroadcastPush.maximumBytes)
        }
        return Checked(notification: try rules.notification(request, to: push, id: id), channel: push.channel)
    }

    /// Returns the request as the journal shows it, with the headers that a provider would have sent.
    private func facts(
        of request: ProviderRequest,
        _ direct: DirectBroadcast,
        _ id: NotificationID,
        _ rejection: Rejection?,
    ) -> RequestFacts {
        RequestFacts(
            time: clock.time, connection: 0, environment: rules.environment, interface: .management,
            team: request.topicName.flatMap { accounts.current.app(forTopic: $0) }?.app.team,
            headers: [RequestFacts.Header(name: ":path", value: direct.path)] + RequestFacts.headers(direct.headers),
            topic: request.topicName, pushType: direct.pushType, apnsID: id,
            channel: direct.channelID.isEmpty ? nil : direct.channelID,
            body: request.body,
            status: rejection?.reason.status ?? 200, reason: rejection?.reason.rawValue)
    }
}

extension DirectBroadcast {
    fileprivate var path: String { "/4/broadcasts/apps/" + bundleID }

    fileprivate var headers: [(RequestHeader, String?)] {
        [
            (.channelID, channelID), (.requestID, id), (.expiration, expiration.map { "\($0)" }),
            (.priority, priority.map { "\($0)" }), (.pushType, pushType),
        ]
    }
}
