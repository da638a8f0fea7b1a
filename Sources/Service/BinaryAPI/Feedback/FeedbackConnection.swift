import Connections
import Delivery
import NIOCore
import Notifications
import Rates
import Trust

/// One provider's connection to the feedback service. It sends the feedback list and closes.
///
/// Afterwards, the entries that were sent are removed from the list. This needs proof: the client has read all of
/// them and closed its side, or its system has acknowledged all of them, because some clients keep the connection
/// open. If the connection ends in another way, the list stays as it was. Confined to the connection's event loop.
final class FeedbackConnection: CertifiedConnection {
    private let service: FeedbackService
    private let identity: ProviderIdentity
    private let channel: CertifiedChannel
    /// The feedback list of the certificate's topic; nil if no app has this topic. The client then gets no entries.
    private let list: FeedbackList?
    private var sent: FeedbackMark?
    private var isFinished = false
    private var isGone = false
    /// The end of the removal from the list; nil if it has not begun.
    private var confirming: EventLoopFuture<Void>?
    private var second = NIODeadline.now()
    private var lastProgress = NIODeadline.now()

    init(service: FeedbackService, identity: ProviderIdentity, channel: CertifiedChannel) {
        self.service = service
        self.identity = identity
        self.channel = channel
        let accounts = service.certificates.accounts.current
        list = accounts.app(forTopic: identity.uid).map { (app, _) in
            FeedbackList(environment: service.certificates.environment, app: app.id)
        }
    }

    /// Begins to send at once, without a request from the client (Guide, 3.1.3).
    func began() {
        guard list != nil else { return finish() }
        sendPage(isFirst: true)
    }

    /// Ignores bytes from the client, which have no meaning here.
    func received(_ bytes: ByteBuffer) {}

    func tick(now: NIODeadline) {
        second = now
        guard !isFinished else { return }
        if lastProgress + service.limits.feedbackTimeout < now {
            channel.limitExceeded(.feedbackTimeout)
            channel.close()
        }
        let certificates = service.certificates
        if !certificates.areGood(identity, certificates.accounts.current) { channel.close() }
    }

    /// Does nothing: the list is short, so a shutdown lets it be sent.
    func drain() {}

    func abandon() { channel.close() }

    func acknowledged() { confirm() }

    func ended(well: Bool) -> EventLoopFuture<Void>? {
        isGone = true
        if well { confirm() }
        return confirming
    }

    private func confirm() {
        guard confirming == nil, isFinished, let list, let sent else { return }
        let (promise, feedback) = (channel.eventLoop.makePromise(of: Void.self), service.feedback)
        Task {
            // If this fails, the entries are sent again to the next connection.
            try? await feedback.confirm(list, through: sent)
            promise.succeed()
        }
        confirming = promise.futureResult
    }
}

extension FeedbackConnection {
    private func sendPage(isFirst: Bool) {
        guard let list else { return }
        let (service, mark) = (service, sent)
        let connection = NIOLoopBound(self, eventLoop: channel.eventLoop)
        Task {
            if isFirst { await service.delivery.flushFeedback() }
            let page: [ListedFeedback]?
            do {
                page = try await service.feedback.entries(of: list, after: mark, limit: service.limits.feedbackPage)
            } catch {
                page = nil
            }
            connection.eventLoop.execute { connection.value.send(page) }
        }
    }

    /// - Parameter page: the next entries of the list; nil if the store failed.
    private func send(_ page: [ListedFeedback]?) {
        guard !isGone else { return }
        guard let page else { return channel.close() }
        guard let last = page.last else { return finish() }
        var buffer = ByteBuffer()
        buffer.reserveCapacity(page.count * FeedbackTuple.byteCount)
        for entry in page { FeedbackTuple.write(entry, to: &buffer, clock: service.delivery.clock) }
        let isLast = page.count < service.limits.feedbackPage
        channel.write(buffer).assumeIsolated().whenComplete { [self] result in
            guard case .success = result else { return }
            lastProgress = second
            sent = last.mark
            if isLast { finish() } else { sendPage(isFirst: false) }
        }
    }

    private func finish() {
        isFinished = true
        channel.finish(with: nil, isWatched: true)
    }
}
