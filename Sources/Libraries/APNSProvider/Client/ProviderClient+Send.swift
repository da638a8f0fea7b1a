import NIOCore

extension ProviderClient {
    /// Sends one notification and waits for the answer.
    ///
    /// If a failed attempt can safely be repeated, the client sends again until the deadline: first within a second,
    /// then after longer and longer delays. It never repeats an attempt that the service may have accepted.
    /// - Parameters:
    ///   - notification: the notification to send.
    ///   - deviceToken: the device token to send it to.
    ///   - deadline: the time for the whole call; the configuration's by default.
    /// - Returns: The service's receipt with the notification's identifier.
    /// - Throws: ``ProviderError``. If its code is ``ProviderError/Code/rejected``, ``ProviderError/rejection`` has
    ///   the reason and the advice.
    @discardableResult
    public func send(
        _ notification: PushNotification,
        to deviceToken: DeviceToken,
        deadline: Duration? = nil,
    ) async throws(ProviderError) -> PushReceipt {
        let request = notification.request(to: deviceToken)
        let result = await answer(to: request, deadline: deadline, retriesRejections: true).receipt
        await forget(Push(notification, to: deviceToken), after: result)
        return try result.get()
    }

    /// Sends a request unchanged and returns the service's answer unchanged.
    /// - Parameter retriesRejections: if false, the request is not sent again after a rejection, and the call fails
    ///   when the first attempt to connect fails.
    package func send(
        _ request: PushRequest,
        deadline: Duration? = nil,
        retriesRejections: Bool = false,
    ) async throws(ProviderError) -> PushAnswer {
        if let problem = request.problem { throw problem }
        return try await answer(to: request, deadline: deadline, retriesRejections: retriesRejections).get()
    }

    func answer(to request: PushRequest, deadline: Duration?, retriesRejections: Bool) async -> Ticket.Answer {
        let start = NIODeadline.now()
        let observation = observer.begin(at: start)
        let cancellation = Cancellation()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                core.submit(
                    Ticket(
                        request,
                        deadline: start + TimeAmount(bounding: deadline ?? configuration.deadline),
                        retriesRejections: retriesRejections,
                        cancellation: cancellation,
                    ) { answer in
                        observation.end(answer)
                        continuation.resume(returning: answer)
                        return nil
                    })
            }
        } onCancel: {
            core.cancel(cancellation)
        }
    }

    var observer: SendObservation.Observer {
        SendObservation.Observer(tracer: tracer, duration: metrics.duration)
    }

    // MARK: Many

    /// Sends many notifications and yields each outcome as soon as it is known.
    ///
    /// ```swift
    /// for try await outcome in client.send(pushes) {
    ///     if case .failure(let error) = outcome.result { print(outcome.item.deviceToken, error) }
    /// }
    /// ```
    /// - Parameters:
    ///   - pushes: the notifications. The client takes them as fast as the service accepts them, and no faster than
    ///     you read the outcomes.
    ///   - deadline: the time for each notification, from the moment at which it is taken from the sequence; the
    ///     configuration's by default.
    /// - Returns: The outcomes. Nothing is sent until you iterate over them.
    public func send<Source: AsyncSequence & Sendable>(
        _ pushes: Source,
        deadline: Duration? = nil,
    ) -> PushOutcomes<Source> where Source.Element == Push {
        let call = bulkCall(of: Push.self, deadline: deadline)
        var outcomes = PushOutcomes(source: pushes, flow: call.flow) { push in
            call.submit(push, push.notification.request(to: push.deviceToken))
        }
        if configuration.deviceTokens != nil {
            outcomes.didEnd = { outcome in await self.forget(outcome.item, after: outcome.result) }
        }
        return outcomes
    }

    /// Sends an array of notifications and yields each outcome as soon as it is known. See the form that takes an
    /// asynchronous sequence.
    public func send(_ pushes: [Push], deadline: Duration? = nil) -> PushOutcomes<PushList> {
        send(PushList(pushes), deadline: deadline)
    }

    /// Sends many requests unchanged.
    package func send<Source: AsyncSequence & Sendable>(
        requests: Source,
        deadline: Duration? = nil,
    ) -> PushOutcomes<Source> where Source.Element == PushRequest {
        let call = bulkCall(of: PushRequest.self, deadline: deadline)
        return PushOutcomes(source: requests, flow: call.flow) { request in
            guard let problem = request.problem else { return call.submit(request, request) }
            call.flow.add(PushOutcome(item: request, result: .failure(problem)))?.wake()
        }
    }

    private func bulkCall<Item: Sendable>(of: Item.Type, deadline: Duration?) -> BulkCall<Item> {
        BulkCall(
            core: core, maximum: configuration.maximumInFlight, observer: observer,
            time: TimeAmount(bounding: deadline ?? configuration.deadline))
    }
}

/// The state that all notifications of a bulk call share.
///
/// It is generic in the item and not in the source: so the compiler specialises the work for each item.
private struct BulkCall<Item: Sendable>: Sendable {
    let flow: BulkFlow<Item>
    private let core: ClientCore
    private let cancellation = Cancellation()
    private let observer: SendObservation.Observer
    private let time: TimeAmount

    init(core: ClientCore, maximum: Int, observer: SendObservation.Observer, time: TimeAmount) {
        self.core = core
        self.observer = observer
        self.time = time
        flow = BulkFlow(maximum: maximum) { [cancellation] in core.cancel(cancellation) }
    }

    func submit(_ item: Item, _ request: PushRequest) {
        let start = NIODeadline.now()
        let observation = observer.begin(at: start)
        core.submit(
            Ticket(request, deadline: start + time, retriesRejections: true, cancellation: cancellation) { [flow] in
                observation.end($0)
                return flow.add(PushOutcome(item: item, result: $0.receipt))
            })
    }
}
