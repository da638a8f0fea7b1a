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

    private struct Acceptance {
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

    private enum State {
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
        switch answer {
        case .taken:
            deadlines.append((now.advanced(by: limits.acknowledgementGrace), offer))
            return []
        case .returned:
            return store(offer, isOut: false)
        }
    }

    /// The device has taken the notification.
    mutating func acknowledged(_ offer: OfferID) -> [Action] {
        switch acceptances[offer]?.state {
        case .offered, .replaced:
            return finish(offer, .accepted)
        case .storing:
            acceptances[offer]?.state = .acknowledgedWhileStoring
            return answer(offer, .accepted)
        case .acknowledgedWhileStoring, nil:
            return []
        }
    }

    /// The device may not have got the notification.
    mutating func returned(_ offer: OfferID) -> [Action] {
        switch acceptances[offer]?.state {
        case .offered:
            return store(offer, isOut: false)
        case .storing:
            acceptances[offer]?.state = .storing(isOut: false)
            return []
        case .acknowledgedWhileStoring, .replaced, nil:
            return []
        }
    }

    /// Stores what no device acknowledged in time.
    mutating func tick(now: Uptime) -> [Action] {
        var actions: [Action] = []
        while let first = deadlines.first, first.moment <= now {
            deadlines.removeFirst()
            if case .offered = acceptances[first.offer]?.state { actions += store(first.offer, isOut: true) }
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
        for (offer, result) in zip(offers, results) {
            guard let acceptance = acceptances[offer] else { continue }
            let destination = acceptance.submission.destination
            if orders[destination]?.storing == offer { orders[destination]?.storing = nil }
            switch result {
            case .success(let version):
                if orders[destination]?.stored.map({ $0.offer < offer }) ?? true {
                    orders[destination]?.stored = (offer, acceptance.submission.notification)
                }
                actions += storedSafely(offer, acceptance, version, now)
            case .failure(let error):
                actions += notStored(offer, acceptance, error)
            }
        }
        return actions
    }

    private func entry(_ acceptance: Acceptance) -> MailboxEntry {
        MailboxEntry(
            destination: acceptance.submission.destination,
            notification: acceptance.submission.notification,
            expires: acceptance.expires,
        )
    }

    private mutating func storedSafely(
        _ offer: OfferID,
        _ acceptance: Acceptance,
        _ version: MailboxVersion,
        _ now: Uptime,
    ) -> [Action] {
        let note = Action.note(.stored(after: now.microseconds(since: acceptance.accepted)), acceptance.subject)
        let stored = StoredMailboxEntry(entry: entry(acceptance), version: version)
        let answers = finish(offer, .accepted)
        switch acceptance.state {
        case .acknowledgedWhileStoring:
            let reference = MailboxReference(destination: stored.entry.destination, version: version)
            return answers + [.remove(reference)]
        case .storing:
            // Before the answer, so that what the provider sends once it has that comes after this on the stream.
            // With its offer even where that came back: a late acknowledgement may still mean it.
            return [note, .announce(stored, offer: offer)] + answers
        case .offered, .replaced:
            return [note] + answers
        }
    }

    private mutating func notStored(_ offer: OfferID, _ acceptance: Acceptance, _ error: StoreError) -> [Action] {
        if case .acknowledgedWhileStoring = acceptance.state { return finish(offer, .accepted) }
        return finish(offer, .rejected(Rejection(error)))
    }

    /// Puts a notification in the queue for the mailbox, unless a newer one to the same destination has gone before
    /// it, as it happens when a connection breaks: then the newer one is what the mailbox is to hold.
    private mutating func store(_ offer: OfferID, isOut: Bool) -> [Action] {
        guard let acceptance = acceptances[offer] else { return [] }
        let destination = acceptance.submission.destination
        let order = orders[destination] ?? Order()
        if let newer = order.storing, newer > offer { return replace(offer, by: newer) }
        if let newer = order.stored, newer.offer > offer {
            let step = acceptance.submission.notification.step(onReplacementBy: newer.notification)
            return [.note(step, acceptance.subject)] + finish(offer, .accepted)
        }
        guard waitingForStore.count < limits.pendingStoresPerShard else {
            let detail = "The service has more to store than its disk takes."
            return [.struck(.pendingStores)] + finish(offer, .rejected(Rejection(.serviceUnavailable, detail: detail)))
        }
        acceptances[offer]?.state = .storing(isOut: isOut)
        orders[destination]?.storing = offer
        waitingForStore.append(offer)
        return []
    }

    /// A newer notification, which is on its way to the mailbox, stands for this one from now on.
    private mutating func replace(_ offer: OfferID, by newer: OfferID) -> [Action] {
        guard let older = acceptances[offer], let replacement = acceptances[newer] else { return [] }
        acceptances[offer]?.state = .replaced
        acceptances[newer]?.replaced.append(offer)
        let step = older.submission.notification.step(onReplacementBy: replacement.submission.notification)
        return [.note(step, older.subject)]
    }

    /// What is to be stored next, when nothing is being stored; called after every event.
    mutating func nextBatch() -> [Action] {
        guard storing == 0, !waitingForStore.isEmpty else { return [] }
        let offers = waitingForStore
        waitingForStore.removeAll()
        var actions: [Action] = []
        var batch: (offers: [OfferID], entries: [MailboxEntry]) = ([], [])
        for offer in offers {
            guard let acceptance = acceptances[offer] else { continue }
            if case .acknowledgedWhileStoring = acceptance.state {
                actions += finish(offer, .accepted)
            } else if let newer = orders[acceptance.submission.destination]?.storing, newer > offer {
                // The newer one goes in this batch, and would replace it at once: only that is stored. So a batch has
                // one entry for a destination, and storing an entry again never sets a mailbox back.
                actions += replace(offer, by: newer)
            } else {
                batch.offers.append(offer)
                batch.entries.append(entry(acceptance))
            }
        }
        guard !batch.offers.isEmpty else { return actions }
        storing = batch.offers.count
        return actions + [.store(batch.offers, batch.entries)]
    }

    private mutating func answer(_ offer: OfferID, _ outcome: Outcome) -> [Action] {
        guard let acceptance = acceptances[offer], !acceptance.isAnswered else { return [] }
        acceptances[offer]?.isAnswered = true
        let answer = Action.answer(acceptance.answers, acceptance.submission.ticket, outcome)
        guard case .rejected(let rejection) = outcome else { return [answer] }
        return [.note(.rejected(rejection.reason), acceptance.subject), answer]
    }

    private mutating func finish(_ offer: OfferID, _ outcome: Outcome) -> [Action] {
        let answer = answer(offer, outcome)
        guard let acceptance = acceptances.removeValue(forKey: offer) else { return answer }
        let destination = acceptance.submission.destination
        if let order = orders[destination] {
            if order.underWay <= 1 {
                orders[destination] = nil
            } else {
                orders[destination]?.underWay = order.underWay - 1
                if order.storing == offer { orders[destination]?.storing = nil }
            }
        }
        return acceptance.replaced.reduce(into: answer) { actions, older in
            actions += finish(older, outcome)
        }
    }
}

extension OfferID: Comparable {
    /// In the order of acceptance.
    package static func < (lhs: OfferID, rhs: OfferID) -> Bool { lhs.rawValue < rhs.rawValue }
}
