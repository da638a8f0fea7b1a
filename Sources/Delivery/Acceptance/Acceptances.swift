import DequeModule
import Notifications

/// The notifications between a provider's request and its answer: which are offered to a device, which go to the
/// mailbox, and when the answer is due (Guide, 2.1.3).
///
/// What may be stored is answered once it is safe: acknowledged by the device, or on disk. A pure state machine: what
/// happened goes in with the time, what is to be done comes out.
struct Acceptances: ~Copyable {
    private var acceptances: [OfferID: Acceptance] = [:]
    /// The order of acceptance of what is under way to the same destination.
    private var orders: [Destination: Order] = [:]
    private var deadlines = Deque<(moment: Uptime, offer: OfferID)>()
    private var waitingForStore: [OfferID] = []
    /// How many the store has and has not answered.
    private var storing = 0
    private var lastNumber: UInt64 = 0
    private let limits: DeliveryLimits

    init(limits: DeliveryLimits) { self.limits = limits }

    fileprivate struct Acceptance {
        let submission: Submission
        let answers: any SubmissionAnswers
        let expires: Timestamp
        let accepted: Uptime
        var state: State
        var isAnswered = false
        /// Older notifications to the same destination that are answered with this one, which replaces them.
        var replaced: [OfferID] = []

        var subject: NotificationSubject {
            NotificationSubject(
                submission.notification, to: submission.destination, generation: submission.generation)
        }
    }

    fileprivate enum State {
        /// A device has it and has not acknowledged it.
        case offered
        /// It goes to the mailbox; `isOut` while a device has it too.
        case storing(isOut: Bool)
        /// The device acknowledged it while it was on its way to the mailbox, which need not keep it.
        case acknowledgedWhileStoring
        /// A newer one to the same destination is being stored in its place.
        case replaced
    }

    /// What is known of the notifications to one destination while any of them is under way.
    private struct Order {
        var underWay = 0
        /// The newest that is being stored, and the newest that is stored. A mailbox never goes back behind either.
        var storing: OfferID?
        var stored: (offer: OfferID, notification: Notification)?
    }

    enum Action {
        case answer(any SubmissionAnswers, UInt64, Outcome)
        /// The batch is to be stored now; ``Acceptances/stored(_:results:)`` says what became of it.
        case store([OfferID], [MailboxEntry])
        /// The mailbox has this content: tell whoever holds the device.
        case announce(StoredMailboxEntry, offer: OfferID?)
        case remove(MailboxReference)
        /// For the delivery log.
        case note(DeliveryStep, NotificationSubject)
        /// A bound turned a notification away.
        case struck(DeliveryLimit)
    }

    var isWaiting: Bool { !deadlines.isEmpty }
    var isEmpty: Bool { acceptances.isEmpty }
    /// How many wait for the store, or for its answer.
    var pendingStores: Int { waitingForStore.count + storing }

    /// Whether the next notification to the destination has to go by way of the mailbox as well: the one before it is
    /// on its way there and on no stream, so that an offer would overtake it.
    func mustFollow(_ destination: Destination) -> Bool {
        guard let storing = orders[destination]?.storing else { return false }
        if case .storing(isOut: false) = acceptances[storing]?.state { return true }
        return false
    }

    /// A name for a notification that is to be offered, in the order of acceptance.
    mutating func nextOffer() -> OfferID {
        lastNumber &+= 1
        return OfferID(rawValue: lastNumber)
    }

    /// Takes a notification that may be stored, with what the switchboard said to it.
    mutating func accept(
        _ submission: Submission,
        answers: any SubmissionAnswers,
        offer: OfferID,
        answered answer: OfferAnswer,
        expires: Timestamp,
        now: Uptime,
    ) -> [Action] {
        acceptances[offer] = Acceptance(
            submission: submission, answers: answers, expires: expires, accepted: now, state: .offered)
        orders[submission.destination, default: Order()].underWay += 1
        var actions: [Action] = []
        switch answer {
        case .taken: deadlines.append((now.advanced(by: limits.acknowledgementGrace), offer))
        case .returned: store(offer, isOut: false, &actions)
        }
        return actions
    }

    /// The device has taken the notification.
    mutating func acknowledged(_ offer: OfferID) -> [Action] {
        var actions: [Action] = []
        switch acceptances[offer]?.state {
        case .offered, .replaced:
            finish(offer, .accepted, &actions)
        case .storing:
            acceptances[offer]?.state = .acknowledgedWhileStoring
            acceptances[offer]?.answer(.accepted, &actions)
        case .acknowledgedWhileStoring, nil:
            break
        }
        return actions
    }

    /// The device may not have got the notification.
    mutating func returned(_ offer: OfferID) -> [Action] {
        var actions: [Action] = []
        switch acceptances[offer]?.state {
        case .offered: store(offer, isOut: false, &actions)
        case .storing: acceptances[offer]?.state = .storing(isOut: false)
        case .acknowledgedWhileStoring, .replaced, nil: break
        }
        return actions
    }

    /// When ``tick(now:)`` has something to do, as far as is known; nil where nothing waits for an acknowledgement.
    mutating func nextDeadline() -> Uptime? {
        while let first = deadlines.first {
            if case .offered = acceptances[first.offer]?.state { return first.moment }
            deadlines.removeFirst()
        }
        return nil
    }

    /// Stores what no device acknowledged in time.
    mutating func tick(now: Uptime) -> [Action] {
        var actions: [Action] = []
        while let first = deadlines.first, first.moment <= now {
            deadlines.removeFirst()
            if case .offered = acceptances[first.offer]?.state { store(first.offer, isOut: true, &actions) }
        }
        return actions
    }

    /// Stores everything that has not been answered, because no acknowledgement will be waited for any more.
    mutating func drain() -> [Action] { tick(now: Uptime(nanoseconds: .max)) }

    /// The store has answered a batch, item by item.
    mutating func stored(
        _ offers: [OfferID],
        results: [Result<MailboxVersion, StoreError>],
        now: Uptime,
    ) -> [Action] {
        storing = 0
        var actions: [Action] = []
        actions.reserveCapacity(3 * offers.count)
        for (offer, result) in zip(offers, results) {
            guard let acceptance = acceptances[offer] else { continue }
            noteStored(offer, acceptance, result)
            switch result {
            case .success(let version):
                storedSafely(offer, acceptance, version, now, &actions)
            case .failure(let error):
                let isAcknowledged = if case .acknowledgedWhileStoring = acceptance.state { true } else { false }
                finish(offer, isAcknowledged ? .accepted : .rejected(Rejection(error)), &actions)
            }
        }
        return actions
    }

    /// Keeps what the store said for the others to the same destination, if any are under way.
    private mutating func noteStored(
        _ offer: OfferID,
        _ acceptance: Acceptance,
        _ result: Result<MailboxVersion, StoreError>,
    ) {
        let submission = acceptance.submission
        guard var order = orders[submission.destination], order.underWay > 1 else { return }
        if order.storing == offer { order.storing = nil }
        if case .success = result, order.stored.map({ $0.offer < offer }) ?? true {
            order.stored = (offer, submission.notification)
        }
        orders[submission.destination] = order
    }

    private mutating func storedSafely(
        _ offer: OfferID,
        _ acceptance: Acceptance,
        _ version: MailboxVersion,
        _ now: Uptime,
        _ actions: inout [Action],
    ) {
        let note = Action.note(.stored(after: now.microseconds(since: acceptance.accepted)), acceptance.subject)
        switch acceptance.state {
        case .acknowledgedWhileStoring:
            finish(offer, .accepted, &actions)
            let destination = acceptance.submission.destination
            actions.append(.remove(MailboxReference(destination: destination, version: version)))
        case .storing:
            // Before the answer, so that what the provider sends once it has that comes after this on the stream.
            // With its offer even where that came back: a late acknowledgement may still mean it.
            actions.append(note)
            actions.append(.announce(StoredMailboxEntry(entry: acceptance.entry, version: version), offer: offer))
            finish(offer, .accepted, &actions)
        case .offered, .replaced:
            actions.append(note)
            finish(offer, .accepted, &actions)
        }
    }

    /// Puts a notification in the queue for the mailbox, unless a newer one to the same destination has gone before
    /// it, as it happens when a connection breaks: then the newer one is what the mailbox is to hold.
    private mutating func store(_ offer: OfferID, isOut: Bool, _ actions: inout [Action]) {
        guard let acceptance = acceptances[offer] else { return }
        let destination = acceptance.submission.destination
        let order = orders[destination] ?? Order()
        if let newer = order.storing, newer > offer { return replace(offer, by: newer, &actions) }
        if let newer = order.stored, newer.offer > offer {
            let step = acceptance.submission.notification.step(onReplacementBy: newer.notification)
            actions.append(.note(step, acceptance.subject))
            return finish(offer, .accepted, &actions)
        }
        guard waitingForStore.count < limits.pendingStoresPerShard else {
            let detail = "The service has more to store than its disk takes."
            actions.append(.struck(.pendingStores))
            return finish(offer, .rejected(Rejection(.serviceUnavailable, detail: detail)), &actions)
        }
        acceptances[offer]?.state = .storing(isOut: isOut)
        orders[destination]?.storing = offer
        waitingForStore.append(offer)
    }

    /// A newer notification, which is on its way to the mailbox, stands for this one from now on.
    private mutating func replace(_ offer: OfferID, by newer: OfferID, _ actions: inout [Action]) {
        guard let older = acceptances[offer], let replacement = acceptances[newer] else { return }
        acceptances[offer]?.state = .replaced
        acceptances[newer]?.replaced.append(offer)
        let step = older.submission.notification.step(onReplacementBy: replacement.submission.notification)
        actions.append(.note(step, older.subject))
    }

    /// What is to be stored next, when nothing is being stored; called after every event.
    mutating func nextBatch() -> [Action] {
        guard storing == 0, !waitingForStore.isEmpty else { return [] }
        let offers = waitingForStore
        waitingForStore.removeAll()
        var actions: [Action] = []
        var batch: (offers: [OfferID], entries: [MailboxEntry]) = ([], [])
        batch.offers.reserveCapacity(offers.count)
        batch.entries.reserveCapacity(offers.count)
        for offer in offers {
            guard let acceptance = acceptances[offer] else { continue }
            if case .acknowledgedWhileStoring = acceptance.state {
                finish(offer, .accepted, &actions)
            } else if let newer = orders[acceptance.submission.destination]?.storing, newer > offer {
                // The newer one goes in this batch, and would replace it at once: only that is stored. So a batch has
                // one entry for a destination, and storing an entry again never sets a mailbox back.
                replace(offer, by: newer, &actions)
            } else {
                batch.offers.append(offer)
                batch.entries.append(acceptance.entry)
            }
        }
        guard !batch.offers.isEmpty else { return actions }
        storing = batch.offers.count
        actions.append(.store(batch.offers, batch.entries))
        return actions
    }

    private mutating func finish(_ offer: OfferID, _ outcome: Outcome, _ actions: inout [Action]) {
        guard var acceptance = acceptances.removeValue(forKey: offer) else { return }
        acceptance.answer(outcome, &actions)
        let destination = acceptance.submission.destination
        if let order = orders[destination] {
            if order.underWay <= 1 {
                orders[destination] = nil
            } else {
                orders[destination]?.underWay = order.underWay - 1
                if order.storing == offer { orders[destination]?.storing = nil }
            }
        }
        for older in acceptance.replaced { finish(older, outcome, &actions) }
    }
}

extension Acceptances.Acceptance {
    fileprivate var entry: MailboxEntry {
        MailboxEntry(destination: submission.destination, notification: submission.notification, expires: expires)
    }

    /// Answers the provider, unless it has its answer.
    fileprivate mutating func answer(_ outcome: Outcome, _ actions: inout [Acceptances.Action]) {
        guard !isAnswered else { return }
        isAnswered = true
        if case .rejected(let rejection) = outcome { actions.append(.note(.rejected(rejection.reason), subject)) }
        actions.append(.answer(answers, submission.ticket, outcome))
    }
}

extension OfferID: Comparable {
    /// In the order of acceptance.
    package static func < (lhs: OfferID, rhs: OfferID) -> Bool { lhs.rawValue < rhs.rawValue }
}
