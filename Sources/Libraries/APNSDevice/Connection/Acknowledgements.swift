import NIOCore

/// Decides which notifications to acknowledge, and with which request.
///
/// A single notification is acknowledged at once with a complete request. If more keep coming, the request stays
/// open and each acknowledgement is a fragment of its body (docs/device-protocol.md, Acknowledgements), so the
/// courier reads no headers and writes no answer for it. An open request ends after a silence or after its longest
/// time. Its answer covers all acknowledgements in it. There is one request at a time; acknowledgements that gather
/// while it is being answered go into the next one.
struct Acknowledgements: Sendable, Hashable {
    /// The limits, each with the reason for its value.
    struct Limits: Sendable, Hashable {
        /// The largest number of acknowledgements in one request. If its answer does not come, they are all sent
        /// again.
        var batch = 1000
        /// The largest number of acknowledgements that are kept while there is no connection. The courier allows at most
        /// 10,000 notifications and as many broadcasts under way, and remembers an ended stream for only ten seconds.
        var waiting = 20_000
        /// The silence after which an open request ends. It uses memory on both sides, and until it is answered it
        /// is unknown whether the courier has its acknowledgements. A request stays open only if an acknowledgement
        /// follows another within this time.
        var silence = TimeAmount.seconds(1)
        /// The longest time that a request stays open. If its answer does not come, its acknowledgements are sent
        /// again, and the courier does not remember an ended stream for longer.
        var longest = TimeAmount.seconds(10)
    }

    /// What to do next.
    enum Step: Hashable {
        /// Send a complete request with these acknowledgements.
        case request([UInt64])
        /// Begin a request with these acknowledgements that stays open.
        case begin([UInt64])
        /// Add these acknowledgements to the open request.
        case add([UInt64])
        /// End the open request.
        case end
    }

    private enum Request: Hashable {
        case none
        case open
        /// The body is complete, and only the answer is missing.
        case ended
    }

    private let limits: Limits
    private var waiting: [UInt64] = []
    private var underWay: [UInt64] = []
    private var request = Request.none
    /// The time at which the request was begun.
    private var begun = NIODeadline.distantPast
    /// The time of the last acknowledgement.
    private var lastSent: NIODeadline?

    init(limits: Limits = Limits()) { self.limits = limits }

    /// Whether all notifications that were taken are acknowledged.
    var isEmpty: Bool { waiting.isEmpty && underWay.isEmpty }

    /// The time at which to ask for the next step even if no notification is taken; nil if no request is open.
    var deadline: NIODeadline? {
        guard request == .open, let lastSent else { return nil }
        return min(lastSent + limits.silence, begun + limits.longest)
    }

    /// Records that the app has taken a notification.
    mutating func taken(_ sending: UInt64) {
        if waiting.count >= limits.waiting { waiting.removeFirst(waiting.count / 2) }
        waiting.append(sending)
    }

    /// Returns the next step. Call it until it returns nil.
    /// - Parameter isLast: whether no more notifications will be taken, or no further request will be made on this
    ///   connection.
    mutating func next(at now: NIODeadline, isLast: Bool = false) -> Step? {
        switch request {
        case .none:
            guard !waiting.isEmpty else { return nil }
            let keepComing = !isLast && !isSilent(at: now)
            request = keepComing ? .open : .ended
            begun = now
            let sendings = nextBatch(at: now)
            return keepComing ? .begin(sendings) : .request(sendings)
        case .open where !waiting.isEmpty && underWay.count < limits.batch && now - begun < limits.longest:
            return .add(nextBatch(at: now))
        case .open where isLast || underWay.count >= limits.batch || deadline.map { $0 <= now } ?? true:
            request = .ended
            return .end
        case .open, .ended:
            return nil
        }
    }

    private func isSilent(at now: NIODeadline) -> Bool {
        guard let lastSent else { return true }
        return now - lastSent >= limits.silence
    }

    private mutating func nextBatch(at now: NIODeadline) -> [UInt64] {
        let batch = Array(waiting.prefix(limits.batch - underWay.count))
        waiting.removeFirst(batch.count)
        underWay += batch
        lastSent = now
        return batch
    }

    /// Handles the courier's answer to the request.
    /// - Returns: The number of acknowledgements in it.
    @discardableResult
    mutating func answered() -> Int {
        defer {
            underWay = []
            request = .none
        }
        return underWay.count
    }

    /// Handles a request without an answer. It is unknown whether the courier has its acknowledgements, so they are
    /// sent again on the next connection, which does no harm.
    mutating func failed() {
        waiting = underWay + waiting
        underWay = []
        request = .none
    }
}
