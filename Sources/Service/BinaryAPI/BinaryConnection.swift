import Connections
import DequeModule
import Delivery
import Matching
import NIOCore
import Notifications
import Rates
import Synchronization
import Trust

/// One provider's connection. It reads notifications and passes them to `Delivery`.
///
/// Everything except ``answer(_:with:)`` runs on the connection's event loop. All notifications that one read
/// completes are passed to `Delivery` together. If too many notifications are unanswered, the connection stops
/// reading from the socket, and bytes that were read already wait.
final class BinaryConnection: CertifiedConnection {
    let api: BinaryAPI
    let rules: BinaryRules
    let identity: ProviderIdentity
    let channel: CertifiedChannel
    let eventLoop: any EventLoop
    private(set) var topic: BinaryTopic
    private var decoder: BinaryDecoder
    var exchange: BinaryExchange
    private var unread = Deque<ByteBuffer>()
    private var batch: [Submission] = []
    /// The notification that waits for a look-up of the key of its device token, or until its app is made. Nothing is
    /// read meanwhile, so that the order is kept.
    private var keyless: BinaryNotification?
    /// Shows the notifications to observers, and disturbs them; nil outside the development environment.
    private var scene: (any BinaryScene)?
    private var identifiers: IdentifierGenerator
    private var isProcessing = false
    private(set) var second = NIODeadline.now()
    private var idle = IdleTime()
    /// When the notification that is incomplete so far began; nil if none is.
    private var partialSince: NIODeadline?
    /// Whether reading is paused until half of the unanswered notifications have their answers.
    private var isHeld = false
    /// Whether a notification was rejected. No other state of the connection is read by other threads.
    private let hasFailed = Atomic(false)
    /// Answers that came from another thread, or while nothing was being read. They wait for the event loop.
    private let late = Mutex<[(ticket: UInt64, outcome: Outcome)]>([])

    init(api: BinaryAPI, identity: ProviderIdentity, channel: CertifiedChannel) {
        self.api = api
        self.identity = identity
        self.channel = channel
        eventLoop = channel.eventLoop
        var rules = api.rules
        rules.firstSight = channel.firstSight(api.certificates)
        self.rules = rules
        topic = BinaryTopic(identity.uid, in: api.certificates.accounts.current)
        exchange = BinaryExchange(limit: api.limits.maximumUnanswered)
        decoder = BinaryDecoder(tokenByteCount: api.rules.tokenKeys.current.tokenByteCount)
        var system = SystemRandomNumberGenerator()
        identifiers = IdentifierGenerator(seededBy: &system)
        scene = api.scenes?.scene(of: self, channel.handshake.map { ($0.number, $0.serverName) }) {
            api.certificates.team(of: identity)
        }
    }

    func received(_ bytes: ByteBuffer) {
        readAccounts()
        guard exchange.isOpen else { return }
        idle.noteUse()
        scene?.received()
        unread.append(bytes)
        read()
    }

    func readCompleted() { process() }

    var isPaused: Bool { (isHeld || keyless != nil || scene?.isHolding == true) && exchange.isOpen }

    func tick(now: NIODeadline) {
        second = now
        guard exchange.isOpen else { return }
        if let partialSince, !isPaused, partialSince + api.limits.packetTimeout < now {
            channel.limitExceeded(.binaryPacketTimeout)
            return drain()
        }
        if exchange.isIdle, keyless == nil, idle.exceeds(api.limits.idleTimeout, at: now) {
            channel.limitExceeded(.binaryIdleTimeout)
            return drain()
        }
        if !api.certificates.areGood(identity, api.certificates.accounts.current) { drain() }
    }

    func drain() {
        perform(exchange.shutDown())
        stopIfEnding()
    }

    func abandon() {
        perform(exchange.abandon())
        stopIfEnding()
    }

    /// Handles the client's end of the connection. Notifications that it sent before are still accepted.
    func ended(well: Bool) -> EventLoopFuture<Void>? {
        scene?.ended()
        scene = nil
        return nil
    }
}

// MARK: - Reading

extension BinaryConnection {
    /// Reads as many notifications as there is room for.
    private func read() {
        while hasRoom, let buffer = unread.first {
            var position = 0
            let fault = buffer.withUnsafeReadableBytes { bytes in
                read(bytes.bindMemory(to: UInt8.self).span, &position)
            }
            if let fault { return fail(fault) }
            guard exchange.isOpen else { return }
            if position == buffer.readableBytes {
                unread.removeFirst()
            } else {
                unread[0].moveReaderIndex(forwardBy: position)
            }
        }
        if !decoder.isPartial { partialSince = nil }
    }

    /// - Returns: The fault that ends the connection; nil if there is none.
    private func read(_ bytes: Span<UInt8>, _ position: inout Int) -> BinaryFault? {
        while hasRoom {
            do throws(BinaryFault) {
                guard let notification = try next(bytes, &position) else {
                    if decoder.isPartial, partialSince == nil { partialSince = second }
                    return nil
                }
                partialSince = nil
                if rules.lacksKey(notification) || lacksApp {
                    findKey(of: notification)
                } else {
                    try accept(notification)
                }
            } catch {
                return error
            }
        }
        return nil
    }

    private func next(_ bytes: Span<UInt8>, _ position: inout Int) throws(BinaryFault) -> BinaryNotification? {
        do throws(BinaryFault) {
            return try decoder.next(bytes, &position)
        } catch {
            // A probe is no notification.
            if !error.isProbe {
                let id = NotificationID.random(using: &identifiers)
                scene?.refused(error.status) { facts(nil, id: id) }
            }
            throw error
        }
    }

    private func accept(_ notification: BinaryNotification) throws(BinaryFault) {
        let id = NotificationID.random(using: &identifiers)
        let submission: Submission
        do throws(BinaryStatus) {
            submission = try rules.submission(
                notification, to: topic, id: id, ticket: exchange.nextTicket)
        } catch {
            api.recordRejected(notification, to: topic, id: id, notification.reason(for: error))
            scene?.refused(error) { facts(notification, id: id) }
            throw BinaryFault(status: error, identifier: notification.identifier, command: notification.command)
        }
        exchange.append(notification.command, notification.identifier)
        guard let scene else { return batch.append(submission) }
        let performance = scene.performance(of: submission.ticket) {
            facts(notification, id: id)
        } later: { [weak self] in
            // The connection may have ended, or an earlier notification was faulty.
            if let self, exchange.waits(for: submission.ticket) { batch.append(submission) }
        }
        batch.append(contentsOf: repeatElement(submission, count: performance.times))
    }

    /// Whether the connection can accept another notification now.
    private var hasRoom: Bool { keyless == nil && scene?.isHolding != true && exchange.hasRoom }

    /// Whether the certificate's app has to be made first: nobody has created it (`carillon serve --accept any`).
    private var lacksApp: Bool {
        guard let firstSight = rules.firstSight, let team = identity.foreignTeam else { return false }
        return topic.app.map { $0.team != team && firstSight.isFree($0.id) } ?? true
    }

    private func findKey(of notification: BinaryNotification) {
        keyless = notification
        let (keys, connection) = (rules.tokenKeys, NIOLoopBound(self, eventLoop: eventLoop))
        let (firstSight, name, team) = (rules.firstSight, identity.uid, lacksApp ? identity.foreignTeam : nil)
        Task {
            if let team { await firstSight?.makeApp(of: name, team: team) }
            let isAnswered = await keys.searchIsAnswered()
            connection.eventLoop.execute { connection.value.searched(isAnswered: isAnswered) }
        }
    }

    /// - Parameter isAnswered: false if the store could not be asked. It is then unknown whether a token is invalid.
    private func searched(isAnswered: Bool) {
        guard let notification = keyless else { return }
        keyless = nil
        // The topic's app may have been made, or be another one than before.
        if rules.firstSight != nil, identity.foreignTeam != nil {
            topic = BinaryTopic(identity.uid, in: api.certificates.accounts.current)
        }
        do throws(BinaryFault) {
            if !isAnswered, rules.lacksKey(notification) {
                let id = NotificationID.random(using: &identifiers)
                api.recordRejected(notification, to: topic, id: id, .serviceUnavailable)
                scene?.refused(.processingError) { facts(notification, id: id) }
                throw BinaryFault(
                    status: .processingError, identifier: notification.identifier, command: notification.command)
            }
            try accept(notification)
        } catch {
            fail(error)
        }
        process()
    }

    private func fail(_ fault: BinaryFault) {
        perform(exchange.faulted(fault))
        stopIfEnding()
    }

    /// Passes on the notifications that were read, and reads more as soon as answers make room.
    func process() {
        guard !isProcessing else { return }
        isProcessing = true
        repeat {
            read()
            submit()
        } while hasRoom && !unread.isEmpty
        isProcessing = false
        isHeld = isHeld ? exchange.openCount > api.limits.maximumUnanswered / 2 : !exchange.hasRoom
        channel.readIfWanted()
    }

    private func submit() {
        guard !batch.isEmpty else { return }
        let submissions = batch
        batch.removeAll(keepingCapacity: true)
        AfterBatch.handOn { api.delivery.submit(submissions, answers: self) }
    }

    private func readAccounts() {
        // The accounts may be out of date, so the provider has to use another connection. Its notification is not at
        // fault.
        guard api.certificates.accounts.isCurrent else { return drain() }
        let accounts = api.certificates.accounts.current
        guard accounts.version != topic.version else { return }
        topic = BinaryTopic(identity.uid, in: accounts)
        if !api.certificates.areGood(identity, accounts) { drain() }
    }
}

// MARK: - Answers

extension BinaryConnection {
    func perform(_ action: BinaryExchange.Action?) {
        guard case .end(let packet) = action else { return }
        channel.finish(with: packet?.bytes)
    }

    /// If the connection's end is decided, discards what was read.
    func stopIfEnding() {
        guard !exchange.isOpen else { return }
        unread.removeAll()
        keyless = nil
        partialSince = nil
        scene?.ending()
    }

    private func answer(_ ticket: UInt64, _ outcome: Outcome) {
        var status = BinaryStatus.noErrors
        if case .rejected(let rejection) = outcome {
            if rejection.reason == .tooManyRequests { channel.limitExceeded(.tokenRate) }
            status = rejection.binaryStatus ?? .noErrors
        }
        guard scene?.mayAnswer(ticket, status) ?? true else { return }
        if status != .noErrors { hasFailed.store(true, ordering: .releasing) }
        decide(ticket, status)
    }

    private func answerLate() {
        let answers = late.withLock { late in
            defer { late.removeAll(keepingCapacity: true) }
            return late
        }
        for (ticket, outcome) in answers { answer(ticket, outcome) }
        process()
    }
}

/// Called from other threads. `@unchecked` because the compiler cannot see that everything else is confined to the
/// event loop. Threads share only ``late``, behind its lock, and ``hasFailed``, which is atomic.
extension BinaryConnection: SubmissionAnswers, @unchecked Sendable {
    func answer(_ ticket: UInt64, with outcome: Outcome) {
        // An answer outside of this connection's own read makes room, so reading has to continue. Do that later, even
        // on this event loop: another connection's read may be in progress on it.
        if eventLoop.inEventLoop, isProcessing { return answer(ticket, outcome) }
        if case .rejected(let rejection) = outcome, rejection.binaryStatus != nil {
            hasFailed.store(true, ordering: .releasing)
        }
        let isFirst = late.withLock { late in
            late.append((ticket, outcome))
            return late.count == 1
        }
        if isFirst { eventLoop.execute { self.answerLate() } }
    }

    /// False after a faulty notification, because those that follow it are discarded (Guide, 3.1.2).
    var takesMore: Bool { !hasFailed.load(ordering: .acquiring) }
}
