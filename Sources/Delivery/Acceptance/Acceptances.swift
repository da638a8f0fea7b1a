import DequeModule
import Notifications
import Rates

/// The notifications between a provider's request and its answer: which are offered to a device, which go to the
/// mailbox, and when the answer is due (Guide, 2.1.3).
///
/// What may be stored is answered once it is safe: acknowledged by the device, or on disk. A pure state machine: what
/// happened goes in with the time, what is to be done comes out.
struct Acceptances: ~Copyable {
    /// What is under way, by where it goes.
    private var orders: [Destination: Order] = [:]
    /// What was offered, until somebody looks after its deadline, or sooner where what came before has been answered as
    /// well. By name: nothing that is answered is kept for its deadline.
    private var offered = Deque<Offered>()
    private var waitingForStore = Deque<Acceptance>()
    /// The batch that the store has and has not answered.
    private var storing: [Acceptance] = []
    private var names: OfferNames
    private let limits: DeliveryLimits
    /// Whether other nodes store for the same destinations. Then what the device acknowledges while it is on its way to the
    /// mailbox is answered when the store has answered: otherwise the provider could send a newer notification by another
    /// node, which this one would replace when it arrives at the store.
    private let isShared: Bool

    init(limits: DeliveryLimits, names: OfferNames, isShared: Bool = false) {
        self.limits = limits
        self.names = names
        self.isShared = isShared
    }

    fileprivate final class Acceptance {
        let offer: OfferID
        let submission: Submission
        let answers: any SubmissionAnswers
        let expires: Timestamp
        let accepted: Uptime
        var state = State.offered
        var isAnswered = false
        /// Older notifications to the same destination that are answered with this one, which replaces them.
        var replaced: [Acceptance] = []

        init(
            _ submission: Submission,
            offer: OfferID,
            answers: any SubmissionAnswers,
            expires: Timestamp,
            accepted: Uptime,
        ) {
            self.offer = offer
            self.submission = submission
            self.answers = answers
            self.expires = expires
            self.accepted = accepted
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
        /// It is answered, and nothing more becomes of it here.
        case over
    }

    /// What is known of the notifications to one destination while any of them is under way.
    private struct Order {
        /// In the order of acceptance, by the numbers of their offers.
        var underWay = Numbered<Acceptance>()
        /// The newest that is being stored, and the newest that is stored. A mailbox never goes back behind either.
        var storing: Acceptance?
        var stored: (offer: OfferID, notification: Notification)?

        mutating func find(_ offer: OfferID) -> Acceptance? { underWay[offer.number] }

        /// - Returns: whether nothing is under way any more.
        mutating func remove(_ acceptance: Acceptance) -> Bool {
            _ = underWay.remove(acceptance.offer.number)
            if storing === acceptance { storing = nil }
            return underWay.isEmpty
        }
    }

    private struct Offered {
        let offer: OfferID
        let destination: Destination
        let accepted: Uptime
    }

    enum Action {
        case answer(any SubmissionAnswers, UInt64, Outcome)
        /// The mailbox has this content: tell whoever holds the device.
        case announce(StoredMailboxEntry, offer: OfferID?)
        case remove(MailboxReference)
        /// For the delivery log.
        case note(DeliveryStep, NotificationSubject)
        /// A bound turned a notification away.
        case struck(Limit)
    }

    var isWaiting: Bool { !offered.isEmpty }
    var isEmpty: Bool { orders.isEmpty }
    /// How many wait for the store, or for its answer.
    var pendingStores: Int { waitingForStore.count + storing.count }

    /// Whether the next notification to the destination has to go by way of the mailbox as well: the one before it is
    /// on its way there and on no stream, so that an offer would overtake it.
    func mustFollow(_ destination: Destination) -> Bool {
        guard !orders.isEmpty, let index = orders.index(forKey: destination) else { return false }
        if case .storing(isOut: false) = orders.values[index].storing?.state { return true }
        return false
    }

    /// A name for a notification that is to be offered, in the order of acceptance.
    mutating func nextOffer() -> OfferID { names.next() }

    /// Takes a notification that may be stored, with what the switchboard said to it.
    mutating func accept(
        _ submission: Submission,
        answers: any SubmissionAnswers,
        offer: OfferID,
        answered answer: OfferAnswer,
        expires: Timestamp,
        now: Uptime,
    ) -> [Action] {
        let acceptance = Acceptance(submission, offer: offer, answers: answers, expires: expires, accepted: now)
        orders[submission.destination, default: Order()].underWay.append(acceptance, number: offer.number)
        var actions: [Action] = []
        switch answer {
        case .taken:
            offered.append(Offered(offer: offer, destination: submission.destination, accepted: now))
        case .held: store(acceptance, isOut: true, &actions)
        case .returned: store(acceptance, isOut: false, &actions)
        }
        return actions
    }

    /// Mutating, as what follows, because an order is looked at in its place by what may change it, and copied by what
    /// may not.
    private mutating func find(_ offer: OfferID, of destination: Destination) -> Acceptance? {
        guard !orders.isEmpty, offer.origin == names.origin, let index = orders.index(forKey: destination)
        else { return nil }
        return orders.values[index].find(offer)
    }

    /// The device has taken the notification.
    mutating func acknowledged(_ offer: OfferID, of destination: Destination) -> [Action] {
        var actions: [Action] = []
        guard !orders.isEmpty, offer.origin == names.origin, let index = orders.index(forKey: destination),
            let acceptance = orders.values[index].find(offer)
        else { return actions }
        switch acceptance.state {
        case .offered, .replaced:
            finish(acceptance, .accepted, &actions, at: index)
        case .storing:
            acceptance.state = .acknowledgedWhileStoring
            if !isShared { acceptance.answer(.accepted, &actions) }
        case .acknowledgedWhileStoring, .over:
            break
        }
        return actions
    }

    /// The device may not have got the notification.
    mutating func returned(_ offer: OfferID, of destination: Destination) -> [Action] {
        var actions: [Action] = []
        guard let acceptance = find(offer, of: destination) else { return actions }
        switch acceptance.state {
        case .offered: store(acceptance, isOut: false, &actions)
        case .storing: acceptance.state = .storing(isOut: false)
        case .acknowledgedWhileStoring, .replaced, .over: break
        }
        return actions
    }

    /// When ``tick(now:)`` has something to do, as far as is known; nil where nothing waits for an acknowledgement.
    mutating func nextDeadline() -> Uptime? {
        while let first = offered.first {
            if openAcceptance(first) != nil { return deadline(of: first) }
            offered.removeFirst()
        }
        return nil
    }

    /// What still waits for its acknowledgement.
    private mutating func openAcceptance(_ offered: Offered) -> Acceptance? {
        guard let acceptance = find(offered.offer, of: offered.destination), case .offered = acceptance.state
        else { return nil }
        return acceptance
    }

    private func deadline(of offered: Offered) -> Uptime {
        offered.accepted.advanced(by: limits.acknowledgementGrace)
    }

    /// Stores what no device acknowledged in time.
    mutating func tick(now: Uptime) -> [Action] {
        storeOffered { $0 <= now }
    }

    /// Stores everything that has not been answered, because no acknowledgement will be waited for any more.
    mutating func drain() -> [Action] {
        storeOffered { _ in true }
    }

    private mutating func storeOffered(where isDue: (Uptime) -> Bool) -> [Action] {
        var actions: [Action] = []
        while let first = offered.first, isDue(deadline(of: first)) {
            offered.removeFirst()
            if let acceptance = openAcceptance(first) { store(acceptance, isOut: true, &actions) }
        }
        return actions
    }

    /// The store has answered its batch, item by item.
    mutating func stored(_ results: [Result<MailboxVersion, StoreError>], now: Uptime) -> [Action] {
        let batch = storing
        storing = []
        var actions: [Action] = []
        actions.reserveCapacity(3 * batch.count)
        for (acceptance, result) in zip(batch, results) {
            noteStored(acceptance, result)
            switch result {
            case .success(let version):
                storedSafely(acceptance, version, now, &actions)
            case .failure(let error):
                let isAcknowledged = if case .acknowledgedWhileStoring = acceptance.state { true } else { false }
                finish(acceptance, isAcknowledged ? .accepted : .rejected(Rejection(error)), &actions)
            }
        }
        return actions
    }

    /// Keeps what the store said for the others to the same destination, if any are under way.
    private mutating func noteStored(_ acceptance: Acceptance, _ result: Result<MailboxVersion, StoreError>) {
        let submission = acceptance.submission
        guard let index = orders.index(forKey: submission.destination), orders.values[index].underWay.count > 1
        else { return }
        if orders.values[index].storing === acceptance { orders.values[index].storing = nil }
        guard case .success = result, orders.values[index].stored.map({ acceptance.isNewer(than: $0.offer) }) ?? true
        else { return }
        orders.values[index].stored = (acceptance.offer, submission.notification)
    }

    private mutating func storedSafely(
        _ acceptance: Acceptance,
        _ version: MailboxVersion,
        _ now: Uptime,
        _ actions: inout [Action],
    ) {
        let note = Action.note(.stored(after: now.microseconds(since: acceptance.accepted)), acceptance.subject)
        switch acceptance.state {
        case .acknowledgedWhileStoring:
            finish(acceptance, .accepted, &actions)
            let destination = acceptance.submission.destination
            actions.append(.remove(MailboxReference(destination: destination, version: version)))
        case .storing:
            // Before the answer, so that what the provider sends once it has that comes after this on the stream.
            // With its offer even where that came back: a late acknowledgement may still mean it.
            actions.append(note)
            let stored = StoredMailboxEntry(entry: acceptance.entry, version: version)
            actions.append(.announce(stored, offer: acceptance.offer))
            finish(acceptance, .accepted, &actions)
        case .offered, .replaced:
            actions.append(note)
            finish(acceptance, .accepted, &actions)
        case .over:
            break
        }
    }

    /// Puts a notification in the queue for the mailbox, unless a newer one to the same destination has gone before
    /// it, as it happens when a connection breaks: then the newer one is what the mailbox is to hold.
    private mutating func store(_ acceptance: Acceptance, isOut: Bool, _ actions: inout [Action]) {
        guard let index = orders.index(forKey: acceptance.submission.destination) else { return }
        if let newer = orders.values[index].storing, newer.isNewer(than: acceptance.offer) {
            return replace(acceptance, by: newer, &actions)
        }
        if let newer = orders.values[index].stored, newer.offer.number > acceptance.offer.number {
            let step = acceptance.submission.notification.step(onReplacementBy: newer.notification)
            actions.append(.note(step, acceptance.subject))
            return finish(acceptance, .accepted, &actions)
        }
        guard waitingForStore.count < limits.pendingStoresPerShard else {
            let detail = "Too many notifications wait for the disk."
            actions.append(.struck(.pendingStores))
            return finish(acceptance, .rejected(Rejection(.serviceUnavailable, detail: detail)), &actions)
        }
        acceptance.state = .storing(isOut: isOut)
        orders.values[index].storing = acceptance
        waitingForStore.append(acceptance)
    }

    /// A newer notification, which is on its way to the mailbox, stands for this one from now on.
    private func replace(_ older: Acceptance, by newer: Acceptance, _ actions: inout [Action]) {
        older.state = .replaced
        newer.replaced.append(older)
        let step = older.submission.notification.step(onReplacementBy: newer.submission.notification)
        actions.append(.note(step, older.subject))
    }

    /// Whether ``nextBatch()`` has something to store.
    var hasBatch: Bool { storing.isEmpty && !waitingForStore.isEmpty }

    /// What is to be stored next; ``stored(_:now:)`` is told what became of it. Nothing, while the store has not answered the
    /// batch before it.
    mutating func nextBatch() -> (entries: [MailboxEntry], actions: [Action]) {
        guard hasBatch else { return ([], []) }
        var actions: [Action] = []
        storing.reserveCapacity(min(waitingForStore.count, limits.storesPerBatch))
        while storing.count < limits.storesPerBatch, let acceptance = waitingForStore.popFirst() {
            if case .acknowledgedWhileStoring = acceptance.state {
                finish(acceptance, .accepted, &actions)
            } else if let newer = orders[acceptance.submission.destination]?.storing,
                newer.isNewer(than: acceptance.offer)
            {
                // The newer one goes in this batch or a later one, and would replace it: only that is stored. So a batch
                // has one entry for a destination, and storing an entry again never sets a mailbox back.
                replace(acceptance, by: newer, &actions)
            } else {
                storing.append(acceptance)
            }
        }
        return (storing.map(\.entry), actions)
    }

    /// - Parameter place: where its order is, if that is known: to look for it waits for memory.
    private mutating func finish(
        _ acceptance: Acceptance,
        _ outcome: Outcome,
        _ actions: inout [Action],
        at place: Dictionary<Destination, Order>.Index? = nil,
    ) {
        if case .over = acceptance.state { return }
        acceptance.state = .over
        acceptance.answer(outcome, &actions)
        if let index = place ?? orders.index(forKey: acceptance.submission.destination),
            orders.values[index].remove(acceptance)
        {
            orders.remove(at: index)
        }
        let replaced = acceptance.replaced
        acceptance.replaced = []
        for older in replaced { finish(older, outcome, &actions) }
    }
}

extension Acceptances.Acceptance {
    /// Whether it was accepted after an offer of the same origin.
    fileprivate func isNewer(than other: OfferID) -> Bool { offer.number > other.number }

    fileprivate var entry: MailboxEntry {
        MailboxEntry(destination: submission.destination, notification: submission.notification, expires: expires)
    }

    fileprivate var subject: NotificationSubject {
        NotificationSubject(submission.notification, to: submission.destination, generation: submission.generation)
    }

    /// Answers the provider, unless it has its answer.
    fileprivate func answer(_ outcome: Outcome, _ actions: inout [Acceptances.Action]) {
        guard !isAnswered else { return }
        isAnswered = true
        if case .rejected(let rejection) = outcome { actions.append(.note(.rejected(rejection.reason), subject)) }
        actions.append(.answer(answers, submission.ticket, outcome))
    }
}
