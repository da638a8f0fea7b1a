import Connections
import Delivery
import NIOCore
import Notifications
import Rates
import Trust

/// One provider's connection to the feedback service: sends the list, and closes.
///
/// The entries that were sent are removed from the list when the client has read all of them and closed its side, or
/// when its system has acknowledged all of them, because some clients keep the connection open. If the connection ends
/// in another way, the list does not change. Confined to the connection's event loop.
final class FeedbackConnection: CertifiedConnection {
    private let service: FeedbackService
    private let identity: ProviderIdentity
    private let channel: CertifiedChannel
    /// Nil if no app has the certificate's topic. The list is then empty.
    private let list: FeedbackList?
    private var sent: FeedbackMark?
    private var isFinished = false
    private var isGone = false
    /// Whether the removal from the list has begun.
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

    /// Transmission begins at once, without a request (Guide, 3.1.3).
    func began() {
        guard list != nil else { return finish() }
        sendPage(isFirst: true)
    }

    /// Bytes from a client have no meaning here.
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

    /// A shutdown does not interrupt the list, because it is short.
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
            // Entries that cannot be removed now are sent once more.
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
            if isFirst { await service.delivery.settleFeedback() }
            let page: [TakenFeedback]?
            do {
                page = try await service.feedback.take(list, after: mark, limit: service.limits.feedbackPage)
            } catch {
                page = nil
            }
            connection.eventLoop.execute { connection.value.send(page) }
        }
    }

    /// - Parameter page: nil if the store failed.
    private func send(_ page: [TakenFeedback]?) {
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
