import Connections
import Delivery
import HTTP2
import Notifications

/// Hands notifications to `Delivery`. All that one read completes go together.
enum DeviceRoute {
    /// Hands over the notification of a request that has ended, or rejects it.
    static func ended(_ request: ProviderRequest, on stream: StreamID, of connection: ProviderConnection) {
        let mayBecomeGood = mayBecomeGood(request, of: connection)
        // If the request is rejected in any case, it need not wait.
        if case .refusal = request.kind, !mayBecomeGood { return submit(request, on: stream, of: connection) }
        guard mayBecomeGood || !connection.waiting.isEmpty else {
            return submit(request, on: stream, of: connection)
        }
        connection.waiting.append(stream)
        if !connection.waiting.isSearching { search(of: connection) }
    }

    /// Adds a request that has ended to the batch, or rejects it.
    static func submit(_ request: ProviderRequest, on stream: StreamID, of connection: ProviderConnection) {
        guard !request.isHandled else { return }
        do throws(Rejection) {
            let submission = try submission(of: request, on: stream, of: connection)
            guard request.scene != nil else { return connection.batch.append(submission) }
            let times = connection.times(request, submission)
            connection.batch.append(contentsOf: repeatElement(submission, count: times))
        } catch {
            connection.reject(stream, error)
        }
    }

    /// Makes a request's submission. The request then counts as handled, and no longer has its body.
    private static func submission(
        of request: ProviderRequest,
        on stream: StreamID,
        of connection: ProviderConnection,
    ) throws(Rejection) -> Submission {
        let push: DevicePush
        switch request.kind {
        case .device(let device): push = device
        case .refusal(let rejection): throw rejection
        case .broadcast, .upstream, .grant, .handles: throw Rejection(.internalServerError)
        }
        try connection.checkAgain(request, to: push.destination.app, deletion: .deleted(push.topic))
        let id = request.identify(using: &connection.identifiers)
        let notification = try connection.rules.notification(request, to: push, id: id)
        request.isHandled = true
        request.body = []
        return Submission(
            destination: push.destination,
            deviceToken: push.deviceToken,
            generation: push.generation,
            notification: notification,
            ticket: stream.ticket,
        )
    }

    /// Hands the batch over.
    static func submitBatch(of connection: ProviderConnection) {
        guard !connection.batch.isEmpty else { return }
        var submissions: [Submission] = []
        swap(&submissions, &connection.batch)
        AfterBatch.handOn { connection.api.delivery.submit(submissions, answers: connection) }
        // Keep the memory for the next read.
        submissions.removeAll(keepingCapacity: true)
        if connection.batch.isEmpty { swap(&submissions, &connection.batch) }
    }
}

extension Rejection {
    /// The app was deleted since the request's fields were judged.
    static func deleted(_ topic: AddressedTopic) -> Rejection {
        Rejection(.topicDisallowed, detail: "The app with the topic \(topic.name) was deleted.")
    }
}
