package import Delivery
import NIOCore
package import Notifications
import Synchronization
import Trust

/// A notification that comes by the management API: what a provider's request says in its path and its headers, as text.
package struct DirectNotification: Sendable {
    package var token: String
    package var topic: String
    package var payload: [UInt8]
    package var id: String?
    package var expiration: UInt64?
    package var priority: Int?
    package var collapseID: String?
    package var pushType: String?

    package init(token: String, topic: String, payload: [UInt8]) {
        self.token = token
        self.topic = topic
        self.payload = payload
    }
}

extension ProviderGateway {
    /// Takes a notification by the gateway's rules, all but those of who sends it.
    /// - Returns: its identifier, and what a provider would be answered.
    package func submit(_ direct: DirectNotification) async -> (id: NotificationID, outcome: Outcome) {
        var system = SystemRandomNumberGenerator()
        var random = IdentifierRandom(seededBy: &system)
        var request = ProviderRequest(began: .now())
        request.isPost = true
        request.sender = .management
        func read(_ header: RequestHeader, _ text: String?) {
            if let text { request.read(header, Array(text.utf8).span) }
        }
        read(.path, "/3/device/" + direct.token)
        read(.id, direct.id)
        read(.expiration, direct.expiration.map { "\($0)" })
        read(.priority, direct.priority.map { "\($0)" })
        read(.collapseID, direct.collapseID)
        read(.pushType, direct.pushType)
        request.topic = topic(direct.topic)
        let limit = request.topic.present?.payloadLimit ?? 0
        request.body = direct.payload
        let id = request.id.present ?? .random(using: &random)
        do throws(Rejection) {
            guard accounts.isCurrent else { throw .accountsNotCurrent }
            let addressed = try rules.check(request)
            guard direct.payload.count <= limit else {
                throw Rejection(.payloadTooLarge, detail: "The payload is longer than \(limit) bytes.")
            }
            let submission = Submission(
                destination: addressed.destination,
                deviceToken: addressed.deviceToken,
                generation: addressed.generation,
                notification: try rules.notification(request, to: addressed.topic, id: id),
                ticket: 0,
            )
            return (id, await submit(submission))
        } catch {
            request.verdict = .failure(error)
            deliveryLog.record(
                DeliveryEvent(time: clock.time, step: .rejected(error.reason), subject: request.subject(id)))
            return (id, .rejected(error))
        }
    }

    private func topic(_ name: String) -> ProviderRequest.Field<AddressedTopic> {
        guard !name.isEmpty else { return .absent }
        guard name.utf8.count <= BundleID.maximumTopicBytes, BundleID.isTopic(name) else {
            return .bad("The topic is not a bundle ID, with or without suffix.")
        }
        return .value(AddressedTopic(name: name, in: accounts.current))
    }

    private func submit(_ submission: Submission) async -> Outcome {
        await withCheckedContinuation { continuation in
            delivery.submit([submission], answers: OneAnswer(continuation))
        }
    }
}

/// Waits for the answer to one submission.
private final class OneAnswer: SubmissionAnswers {
    private let continuation: Mutex<CheckedContinuation<Outcome, Never>?>

    init(_ continuation: CheckedContinuation<Outcome, Never>) { self.continuation = Mutex(continuation) }

    func answer(_ ticket: UInt64, with outcome: Outcome) {
        let continuation = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        continuation?.resume(returning: outcome)
    }
}
