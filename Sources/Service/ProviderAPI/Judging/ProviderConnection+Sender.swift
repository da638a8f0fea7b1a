import Delivery
import HTTP2
import Notifications
import Trust

// Identifies a request by the certificate of its connection, and makes its submission.
extension ProviderConnection {
    /// Sets a request's sender from the connection's certificate, and its topic if the request has none.
    func identify(_ request: ProviderRequest, by certificate: ProviderIdentity) {
        do throws(Rejection) {
            try memory.check(certificate, api: api)
            request.sender = .certificate(certificate)
        } catch {
            request.sender = .rejected(error)
        }
        if case .absent = request.topic, let topic = certificate.defaultTopic {
            request.topic = .value(memory.topic(topic, api: api))
        }
    }

    /// Makes a request's submission. The request then counts as handled, and no longer has its body.
    func submission(_ stream: StreamID, _ request: ProviderRequest) throws(Rejection) -> Submission {
        guard let verdict = request.verdict else { throw Rejection(.internalServerError) }
        let addressed = try verdict.get()
        try memory.checkAgain(
            request, to: addressed.destination.app, api: api,
            deletion: Rejection(
                .topicDisallowed, detail: "The app with the topic \(addressed.topic.name) was deleted."))
        let id = request.id.present ?? .random(using: &random)
        request.id = .value(id)
        let notification = try rules.notification(request, to: addressed, id: id)
        request.isHandled = true
        request.body = []
        return Submission(
            destination: addressed.destination,
            deviceToken: addressed.deviceToken,
            generation: addressed.generation,
            notification: notification,
            ticket: stream.ticket,
        )
    }
}
