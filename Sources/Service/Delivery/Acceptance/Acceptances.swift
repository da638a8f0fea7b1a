import DequeModule
import Notifications
import Rates
import Storage

/// The notifications between a provider's request and its answer. Decides which notifications are offered to a
/// device, which go to the mailbox, and when the provider gets its answer (Guide, 2.1.3).
///
/// If a notification may be stored, its provider gets the answer when it is safe: acknowledged by the device, or on
/// disk. This type is a pure state machine: it takes events with the time and returns actions.
struct Acceptances: ~Copyable {
    /// The notifications that are under way, by destination.
    private(set) var orders: [Destination: Order] = [:]
    /// The offers whose deadline has not passed, by identifier. An offer is removed earlier if it and all earlier
    /// ones are answered, so that no answered notification stays in memory until its deadline.
    private var offered = Deque<Offered>()
    private(set) var waitingForStore = Deque<Acceptance>()
    /// The batch that the store is writing.
    private(set) var storing: [Acceptance] = []
    /// Notifications whose mailbox another transaction holds. They are stored again after a pause, and delay no others.
    private(set) var locked: [Acceptance] = []
    private var isRetryUnderWay = false
    private var names: OfferNames
    let limits: DeliveryLimits
    /// Whether other nodes store for the same destinations. If so, a notification that the device acknowledges while
    /// it is being stored is answered only after the store has answered. Otherwise the provider could send a newer
    /// notification through another node, which this one would replace in the store.
    private let isShared: Bool
    /// In the mailboxes of these apps a newer notification does not replace an older one.
    private let keeping: KeepingApps

    init(limits: DeliveryLimits, names: OfferNames, isShared: Bool = false, keeping: KeepingApps = KeepingApps()) {
        self.limits = limits
        self.names = names
        self.isShared = isShared
        self.keeping = keeping
    }

    /// The state of one destination while a notification to it is under way.
    struct Order {
        /// The notifications in the order of acceptance, by the numbers of their offers.
        var underWay = Numbered<Acceptance>()
        /// The newest notification that is being stored, and the newest one that is stored. A mailbox never goes back
        /// to an older one.
        var storing: Acceptance?
        var stored: (offer: OfferID, notification: Notification)?

        mutating func find(_ offer: OfferID) -> Acceptance? { underWay[offer.number] }

        /// Removes a notification.
        /// - Returns: Whether no other notification to this destination is under way.
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
        /// Tell the node that holds the device about the mailbox's new content.
        case announce(StoredMailboxEntry, offer: OfferID?)
        case remove(MailboxReference)
        /// Record a step in the delivery log.
        case record(DeliveryStep, NotificationSubject)
        /// Report that a limit refused a notification.
        case limitExceeded(Limit)
    }

    var isWaiting: Bool { !offered.isEmpty }
    var isEmpty: Bool { orders.isEmpty }
    /// The number of notifications that wait for the store or its answer.
    var pendingStores: Int { waitingForStore.count + storing.count + locked.count }

    /// Whether the next notification to the destination has to be stored before it is offered. This is so while the
    /// one before it is being stored and is on no stream: an offer would overtake it.
    func mustFollow(_ destination: Destination) -> Bool {
        guard !orders.isEmpty, let index = orders.index(forKey: destination) else { return false }
        if case .storing(isOut: false) = orders.values[index].storing?.state { return true }
        return false
    }

    /// Returns the identifier of the next offer, in the order of acceptance.
    mutating func nextOffer() -> OfferID { names.next() }

    /// Accepts a notification that may be stored. The switchboard has already answered its offer.
    /// - Parameter read: when its request was read; nil if it was read now.
    mutating func accept(
        _ submission: Submission,
        answers: any SubmissionAnswers,
        offer: OfferID,
        answered answer: OfferAnswer,
        expires: Timestamp,
        read: Uptime? = nil,
        now: Uptime,
    ) -> [Action] {
        defer { assert(checkInvariants()) }
        let acceptance = Acceptance(
            submission, offer: offer, answers: answers, expires: expires, accepted: now, read: read ?? now)
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

    /// This method, like those that follow, is mutating although it changes nothing: a mutating method accesses an
    /// order in place, and another would copy it.
    private mutating func find(_ offer: OfferID, of destination: Destination) -> Acceptance? {
        guard !orders.isEmpty, offer.origin == names.origin, let index = orders.index(forKey: destination)
        else { return nil }
        return orders.values[index].find(offer)
    }

    /// Handles the device's acknowledgement.
    mutating func acknowledged(_ offer: OfferID, of destination: Destination) -> [Action] {
        defer { assert(checkInvariants()) }
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

    /// Handles an offer that may not have reached the device.
    mutating func returned(_ offer: OfferID, of destination: Destination) -> [Action] {
        defer { assert(checkInvariants()) }
        var actions: [Action] = []
        guard let acceptance = find(offer, of: destination) else { return actions }
        switch acceptance.state {
        case .offered: store(acceptance, isOut: false, &actions)
        case .storing: acceptance.state = .storing(isOut: false)
        case .acknowledgedWhileStoring, .replaced, .over: break
        }
        return actions
    }

    /// Returns the next time at which ``tick(now:)`` has work to do; nil if no notification waits for an
    /// acknowledgement.
    mutating func nextDeadline() -> Uptime? {
        while let first = offered.first {
            if openAcceptance(first) != nil { return deadline(of: first) }
            offered.removeFirst()
        }
        return nil
    }

    /// Returns the notification if it still waits for its acknowledgement.
    private mutating func openAcceptance(_ offered: Offered) -> Acceptance? {
        guard let acceptance = find(offered.offer, of: offered.destination), case .offered = acceptance.state
        else { return nil }
        return acceptance
    }

    private func deadline(of offered: Offered) -> Uptime {
        offered.accepted.advanced(by: limits.acknowledgementGrace)
    }

    /// Stores the notifications that no device acknowledged in time.
    mutating func tick(now: Uptime) -> [Action] {
        storeOffered { $0 <= now }
    }

    /// Stores all unanswered notifications, because acknowledgements are no longer waited for.
    mutating func drain() -> [Action] {
        storeOffered { _ in true }
    }

    private mutating func storeOffered(where isDue: (Uptime) -> Bool) -> [Action] {
        defer { assert(checkInvariants()) }
        var actions: [Action] = []
        while let first = offered.first, isDue(deadline(of: first)) {
            offered.removeFirst()
            if let acceptance = openAcceptance(first) { store(acceptance, isOut: true, &actions) }
        }
        return actions
    }

    /// Handles the store's results for its batch.
    mutating func stored(_ results: [Result<MailboxVersion, StoreError>], now: Uptime) -> [Action] {
        defer { assert(checkInvariants()) }
        let batch = storing
        storing = []
        var actions: [Action] = []
        actions.reserveCapacity(3 * batch.count)
        for (acceptance, result) in zip(batch, results) {
            if case .failure(let error) = result, error.code == .locked, waitsForLock(acceptance, now) { continue }
            recordStored(acceptance, result)
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

    /// Keeps a notification whose mailbox is locked until it is stored again, unless it has waited too long or nobody
    /// needs it to be stored any more.
    private mutating func waitsForLock(_ acceptance: Acceptance, _ now: Uptime) -> Bool {
        guard case .storing = acceptance.state,
            now < acceptance.accepted.advanced(by: limits.maximumLockWait)
        else { return false }
        locked.append(acceptance)
        return true
    }

    /// Whether the caller has to call ``retryLocked()`` after a pause. True once for all that wait.
    mutating func beginRetry() -> Bool {
        guard !locked.isEmpty, !isRetryUnderWay else { return false }
        isRetryUnderWay = true
        return true
    }

    /// Stores again what another transaction had locked.
    mutating func retryLocked() -> [Action] {
        defer { assert(checkInvariants()) }
        isRetryUnderWay = false
        // They are older than what waits already, so if a newer one to the same destination waits too, only that is stored.
        waitingForStore.prepend(contentsOf: locked)
        locked = []
        return []
    }

    /// Keeps the store's result for other notifications to the same destination that are under way.
    private mutating func recordStored(_ acceptance: Acceptance, _ result: Result<MailboxVersion, StoreError>) {
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
        let step = Action.record(.stored(after: now.microseconds(since: acceptance.accepted)), acceptance.subject)
        switch acceptance.state {
        case .acknowledgedWhileStoring:
            finish(acceptance, .accepted, &actions)
            let destination = acceptance.submission.destination
            actions.append(.remove(MailboxReference(destination: destination, version: version)))
        case .storing:
            // Announce the stored notification before the answer. Then a notification that the provider sends after
            // its answer comes later on the stream. Name the offer even if it was returned, because a late
            // acknowledgement may still refer to it.
            actions.append(step)
            let stored = StoredMailboxEntry(entry: acceptance.entry, version: version)
            actions.append(.announce(stored, offer: acceptance.offer))
            finish(acceptance, .accepted, &actions)
        case .offered, .replaced:
            actions.append(step)
            finish(acceptance, .accepted, &actions)
        case .over:
            break
        }
    }

    /// Adds a notification to the queue for the mailbox. After a broken connection, a newer notification to the same
    /// destination may already be in the queue. Then only the newer one is stored.
    private mutating func store(_ acceptance: Acceptance, isOut: Bool, _ actions: inout [Action]) {
        guard let index = orders.index(forKey: acceptance.submission.destination) else { return }
        if keeping.contains(acceptance.submission.destination) {
            storeBehind(acceptance, at: index, isOut: isOut, &actions)
        } else {
            storeNewest(acceptance, at: index, isOut: isOut, &actions)
        }
    }

    /// Stores a notification in a mailbox that keeps more than one. Those that were accepted before it are stored first,
    /// although they may still be acknowledged, because the mailbox has its contents in the order in which they are stored.
    private mutating func storeBehind(
        _ acceptance: Acceptance,
        at index: Dictionary<Destination, Order>.Index,
        isOut: Bool,
        _ actions: inout [Action],
    ) {
        var earlier: [Acceptance] = []
        orders.values[index].underWay.forEach { other in
            if case .offered = other.state, acceptance.isNewer(than: other.offer) { earlier.append(other) }
        }
        for other in earlier { append(other, at: index, isOut: true, &actions) }
        append(acceptance, at: index, isOut: isOut, &actions)
    }

    /// Stores a notification in a mailbox that has the newest alone.
    private mutating func storeNewest(
        _ acceptance: Acceptance,
        at index: Dictionary<Destination, Order>.Index,
        isOut: Bool,
        _ actions: inout [Action],
    ) {
        if let newer = orders.values[index].storing, newer.isNewer(than: acceptance.offer) {
            return replace(acceptance, by: newer, &actions)
        }
        if isOlderThanStored(acceptance, at: index, &actions) { return finish(acceptance, .accepted, &actions) }
        append(acceptance, at: index, isOut: isOut, &actions)
    }

    private mutating func append(
        _ acceptance: Acceptance,
        at index: Dictionary<Destination, Order>.Index,
        isOut: Bool,
        _ actions: inout [Action],
    ) {
        guard waitingForStore.count + locked.count < limits.pendingStoresPerShard else {
            let detail = "Too many notifications wait for the disk."
            actions.append(.limitExceeded(.pendingStores))
            return finish(acceptance, .rejected(Rejection(.serviceUnavailable, detail: detail)), &actions)
        }
        acceptance.state = .storing(isOut: isOut)
        orders.values[index].storing = acceptance
        waitingForStore.append(acceptance)
    }

    /// Whether a newer notification to the same destination is stored already. Records that it replaces this one.
    private mutating func isOlderThanStored(
        _ acceptance: Acceptance,
        at index: Dictionary<Destination, Order>.Index,
        _ actions: inout [Action],
    ) -> Bool {
        guard let newer = orders.values[index].stored, newer.offer.number > acceptance.offer.number
        else { return false }
        let step = acceptance.submission.notification.step(onReplacementBy: newer.notification)
        actions.append(.record(step, acceptance.subject))
        return true
    }

    /// Marks a notification as replaced by a newer one that is being stored.
    private func replace(_ older: Acceptance, by newer: Acceptance, _ actions: inout [Action]) {
        older.state = .replaced
        newer.replaced.append(older)
        let step = older.submission.notification.step(onReplacementBy: newer.submission.notification)
        actions.append(.record(step, older.subject))
    }

    /// Whether ``nextBatch(now:)`` returns notifications.
    var hasBatch: Bool { storing.isEmpty && !waitingForStore.isEmpty }

    /// Returns the next notifications to store. Call ``stored(_:now:)`` with the results. Returns nothing while the
    /// store has not answered the batch before.
    mutating func nextBatch(now: Uptime) -> (entries: [MailboxEntry], actions: [Action]) {
        defer { assert(checkInvariants()) }
        guard hasBatch else { return ([], []) }
        var actions: [Action] = []
        storing.reserveCapacity(min(waitingForStore.count, limits.storesPerBatch))
        // What mailboxes keep is stored one after the other: if it is not known whether the first was stored, it is stored
        // again, and the next must not come before it.
        var later: [Acceptance] = []
        var keptNow: Set<Destination> = []
        while storing.count < limits.storesPerBatch, let acceptance = waitingForStore.popFirst() {
            if case .acknowledgedWhileStoring = acceptance.state {
                finish(acceptance, .accepted, &actions)
            } else if keeping.contains(acceptance.submission.destination) {
                let destination = acceptance.submission.destination
                if locked.contains(where: { $0.submission.destination == destination }) {
                    // It must not overtake an older one that waits because its mailbox was locked.
                    locked.append(acceptance)
                } else if keptNow.insert(destination).inserted {
                    storing.append(acceptance)
                } else {
                    later.append(acceptance)
                    if later.count >= limits.storesPerBatch { break }
                }
            } else if let newer = orders[acceptance.submission.destination]?.storing,
                newer.isNewer(than: acceptance.offer)
            {
                // A newer notification to the destination is in this batch or will be in a later one, and would
                // replace this one. So store only the newer one. Then a batch has one entry for each destination, and
                // storing an entry a second time never restores older content.
                replace(acceptance, by: newer, &actions)
            } else if let index = orders.index(forKey: acceptance.submission.destination),
                isOlderThanStored(acceptance, at: index, &actions)
            {
                // A newer one was stored while this one's mailbox was locked.
                finish(acceptance, .accepted, &actions)
            } else {
                storing.append(acceptance)
            }
        }
        if !later.isEmpty { waitingForStore.prepend(contentsOf: later) }
        return (storing.map { entry(of: $0, now) }, actions)
    }

    /// Returns the entry of a notification to store. If this node is late, or the entry is late on its way, its provider may
    /// have sent a newer notification through another node meanwhile.
    private func entry(of acceptance: Acceptance, _ now: Uptime) -> MailboxEntry {
        var entry = acceptance.entry
        guard isShared else { return entry }
        let waited = now.duration(since: acceptance.read)
        entry.waited = waited
        if waited > limits.promptStoring { entry.age = waited }
        return entry
    }

    /// - Parameter place: the index of the destination's order if the caller knows it, which saves a look-up.
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
