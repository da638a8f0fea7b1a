import NIOCore

/// A request that the client forwards for somebody else.
package struct ForwardedPushRequest: Sendable {
    let request: PushRequest
    /// Who the request is from. If there are not enough streams, all shares get the same part of them.
    let share: String
    /// Whether it waits for a connection while the service cannot be reached. If not, it fails at once.
    let waitsForConnection: Bool
    /// Takes the answer, once, on the client's event loop or during ``ProviderClient/forward(_:deadline:)``. If it returns a
    /// reader, that is woken after all answers that arrived together.
    let complete: @Sendable (Result<PushAnswer, ProviderError>) -> (any AnswerReader)?

    package init(
        _ request: PushRequest,
        share: String,
        waitsForConnection: Bool = false,
        complete: @escaping @Sendable (Result<PushAnswer, ProviderError>) -> (any AnswerReader)?,
    ) {
        self.request = request
        self.share = share
        self.waitsForConnection = waitsForConnection
        self.complete = complete
    }
}

// What a gateway does with its clients' requests.
extension ProviderClient {
    /// Forwards requests unchanged and hands over the service's answers unchanged. If the service calls the client's own
    /// provider token expired, a request is sent again with a new one. No other rejection is retried.
    /// - Parameters:
    ///   - requests: those that are known at the same time. Together they cost less.
    ///   - deadline: the time for the whole call.
    package func forward(_ requests: [ForwardedPushRequest], deadline: Duration) {
        let (start, observer, cancellation) = (NIODeadline.now(), observer, Cancellation())
        let end = start + TimeAmount(bounding: deadline)
        var tickets: [Ticket] = []
        tickets.reserveCapacity(requests.count)
        for forwarded in requests {
            if let problem = forwarded.request.problem {
                forwarded.complete(.failure(problem))?.wake()
                continue
            }
            let observation = observer.begin(at: start)
            tickets.append(
                Ticket(
                    forwarded.request, deadline: end, retriesRejections: false,
                    waitsForConnection: forwarded.waitsForConnection,
                    renewsTokens: forwarded.request.authorization == nil, share: forwarded.share,
                    cancellation: cancellation,
                ) { [complete = forwarded.complete] answer in
                    observation.end(answer)
                    return complete(answer)
                })
        }
        core.submit(tickets)
    }

    /// Gives up the forwarded requests of these shares that were not sent yet.
    package func giveUpWaiting(of shares: Set<String>) { core.giveUpWaiting(of: shares) }
}
