import NIOCore

extension ProviderClient {
    /// Sends one notification, and waits until the service has answered.
    ///
    /// What may be tried again is tried again until the deadline: first within a second, then ever later. Nothing is
    /// sent twice that may have been taken.
    /// - Parameters:
    ///   - notification: what is sent.
    ///   - deviceToken: where it goes.
    ///   - deadline: how long it may take in all; the configuration's by default.
    /// - Returns: The service's receipt, which names the notification's identifier.
    /// - Throws: ``ProviderError``; with the code ``ProviderError/Code/rejected``, ``ProviderError/rejection`` says why,
    ///   and what to do.
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

    /// Sends a request as it is, and gives the service's answer as it is.
    /// - Parameter retriesRejections: false to send once, and to fail when the first attempt to connect does.
    package func send(
        _ request: PushRequest,
        deadline: Duration? = nil,
        retriesRejections: Bool = false,
    ) async throws(ProviderError) -> PushAnswer {
        if let problem = request.problem { throw problem }
        return try await answer(to: request, deadline: deadline, retriesRejections: retriesRejections).get()
    }

    private func answer(to request: PushRequest, deadline: Duration?, retriesRejections: Bool) async -> Ticket.Answer {
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

    private var observer: SendObservation.Observer {
        SendObservation.Observer(tracer: tracer, duration: metrics.duration)
    }

    // MARK: Many

    /// Sends many notifications, and yields the outcome of each as it ends.
    ///
    /// ```swift
    /// for try await outcome in client.send(pushes) {
    ///     if case .failure(let error) = outcome.result { print(outcome.item.deviceToken, error) }
    /// }
    /// ```
    /// - Parameters:
    ///   - pushes: taken as fast as the service takes them, and no faster than the outcomes are read.
    ///   - deadline: how long each may take, from the moment it is taken; the configuration's by default.
    public func send<Source: AsyncSequence & Sendable>(
        _ pushes: Source,
        deadline: Duration? = nil,
    ) -> PushOutcomes<Source> where Source.Element == Push {
        var outcomes = outcomes(of: pushes, areChecked: true, deadline: deadline) {
            $0.notification.request(to: $0.deviceToken)
        }
        if configuration.deviceTokens != nil {
            outcomes.didEnd = { outcome in await self.forget(outcome.item, after: outcome.result) }
        }
        return outcomes
    }

    /// Sends all of these, and yields the outcome of each as it ends. Like the form that takes an
    /// asynchronous sequence.
    public func send(_ pushes: [Push], deadline: Duration? = nil) -> PushOutcomes<PushList> {
        send(PushList(pushes), deadline: deadline)
    }

    /// Sends many requests as they are.
    package func send<Source: AsyncSequence & Sendable>(
        requests: Source,
        deadline: Duration? = nil,
    ) -> PushOutcomes<Source> where Source.Element == PushRequest {
        outcomes(of: requests, areChecked: false, deadline: deadline) { $0 }
    }

    private func outcomes<Source: AsyncSequence & Sendable>(
        of source: Source,
        areChecked: Bool,
        deadline: Duration?,
        _ request: @escaping @Sendable (Source.Element) -> PushRequest,
    ) -> PushOutcomes<Source> where Source.Element: Sendable {
        let cancellation = Cancellation()
        let time = TimeAmount(bounding: deadline ?? configuration.deadline)
        let flow = BulkFlow<Source.Element>(maximum: configuration.maximumInFlight) { [core] in
            core.cancel(cancellation)
        }
        return PushOutcomes(source: source, flow: flow) { [core, observer] item, flow in
            let request = request(item)
            if !areChecked, let problem = request.problem {
                flow.take(PushOutcome(item: item, result: .failure(problem)))?.wake()
                return
            }
            let start = NIODeadline.now()
            let observation = observer.begin(at: start)
            core.submit(
                Ticket(
                    request, deadline: start + time, retriesRejections: true, cancellation: cancellation
                ) { answer in
                    observation.end(answer)
                    return flow.take(PushOutcome(item: item, result: answer.receipt))
                })
        }
    }
}
