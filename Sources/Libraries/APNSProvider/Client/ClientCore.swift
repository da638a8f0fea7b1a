import Logging
import NIOCore
import Synchronization

/// Hands requests from tasks to the event loop. Tasks put them into an inbox, and the event loop wakes once for all
/// that have gathered.
final class ClientCore: Sendable {
    private struct Inbox {
        var tickets: [Ticket] = []
        var hasCancelled = false
        /// The shares whose waiting requests are given up.
        var endedShares: Set<String> = []
        var isScheduled = false
    }

    let loop: any EventLoop
    private let inbox = Mutex(Inbox())
    private let dispatcher: NIOLoopBoundBox<RequestDispatcher?>
    private let troubles: Troubles

    /// Why requests have to wait.
    private final class Troubles: Sendable {
        let last = Mutex<ProviderError?>(nil)
    }

    /// Why requests have to wait at the moment; nil if the service has accepted one since, or nothing is known.
    var trouble: ProviderError? { troubles.last.withLock { $0 } }

    init(
        loop: any EventLoop,
        settings: RequestDispatcher.Settings,
        opener: ConnectionOpener,
        keeper: ProviderTokenKeeper?,
        logger: Logger,
        metrics: ProviderMetrics,
    ) {
        self.loop = loop
        let box = NIOLoopBoundBox<RequestDispatcher?>.makeEmptyBox(valueType: RequestDispatcher.self, eventLoop: loop)
        dispatcher = box
        let troubles = Troubles()
        self.troubles = troubles
        var settings = settings
        settings.troubleChanged = { trouble in troubles.last.withLock { $0 = trouble } }
        loop.execute { [settings] in
            box.value = RequestDispatcher(
                loop: loop, settings: settings, opener: opener, keeper: keeper, logger: logger,
                metrics: metrics)
        }
    }

    deinit {
        // If the client is released without `shutDown`, its connections are closed all the same.
        loop.execute { [dispatcher] in dispatcher.value?.abandon() }
    }

    /// Takes a request. Its ticket is completed exactly once, on the event loop.
    func submit(_ ticket: Ticket) {
        schedule { $0.tickets.append(ticket) }
    }

    /// Takes several requests at once.
    func submit(_ tickets: [Ticket]) {
        schedule { $0.tickets.append(contentsOf: tickets) }
    }

    /// Gives up all requests of a call, whether they wait or are under way.
    func cancel(_ cancellation: Cancellation) {
        cancellation.cancel()
        schedule { $0.hasCancelled = true }
    }

    /// Gives up the requests of these shares that wait. Those that are under way get their answer.
    func giveUpWaiting(of shares: Set<String>) {
        schedule { $0.endedShares.formUnion(shares) }
    }

    private func schedule(_ change: (inout Inbox) -> Void) {
        let isFirst = inbox.withLock { inbox in
            change(&inbox)
            defer { inbox.isScheduled = true }
            return !inbox.isScheduled
        }
        if isFirst { loop.execute { self.empty() } }
    }

    private func empty() {
        let taken = inbox.withLock { inbox in
            defer { inbox = Inbox() }
            return inbox
        }
        dispatcher.value?.enqueue(taken.tickets)
        if taken.hasCancelled { dispatcher.value?.giveUpCancelled() }
        if !taken.endedShares.isEmpty { dispatcher.value?.giveUpWaiting(of: taken.endedShares) }
    }

    /// Runs a closure on the event loop and waits until it completes the promise.
    /// - Parameter isCancellable: whether the call returns with an error as soon as the task is cancelled.
    func run(
        isCancellable: Bool = false,
        _ body: @escaping @Sendable (RequestDispatcher, EventLoopPromise<Void>) -> Void
    ) async throws(ProviderError) {
        let promise = loop.makePromise(of: Void.self)
        loop.execute { [dispatcher] in
            guard let dispatcher = dispatcher.value else {
                return promise.fail(ProviderError.clientShutDown)
            }
            body(dispatcher, promise)
        }
        do {
            try await withTaskCancellationHandler {
                try await promise.futureResult.get()
            } onCancel: {
                // If the promise is already completed, this has no effect.
                if isCancellable { promise.fail(ProviderError.taskCancelled) }
            }
        } catch {
            throw error as? ProviderError ?? ProviderError(.cannotConnect, "\(error)")
        }
    }
}
