import NIOCore

/// Which notifications are to be acknowledged, and by what request.
///
/// One that comes by itself is acknowledged at once, by a request that is whole. Where they keep coming, a request stays
/// open, and each acknowledgement is a piece of its body (docs/device-protocol.md, Acknowledgements): the courier has no
/// headers to read and no answer to write for it. Such a request ends when nothing was taken for a while, or after a
/// longer one; its answer is for all that it held. There is one request at a time, and what gathers while it is answered
/// goes into the next.
struct Acknowledgements: Sendable, Hashable {
    /// The bounds, each with the reason for its value.
    struct Limits: Sendable, Hashable {
        /// What one request holds at most: what is told again when its answer does not come.
        var batch = 1000
        /// What is remembered at most while there is no connection. The courier lets no more be under way, and knows an
        /// ended stream for ten seconds only.
        var waiting = 10_000
        /// How soon one acknowledgement follows another where they keep coming, and after how much silence an open
        /// request ends: it holds memory on both sides, and until it is answered nothing says that the courier knows.
        var silence = TimeAmount.seconds(1)
        /// After how long an open request ends in any case. What was in it is told again where its answer does not come,
        /// and the courier knows an ended stream for no longer.
        var longest = TimeAmount.seconds(10)
    }

    /// What to do next.
    enum Step: Hashable {
        /// Make a request with these, and end it.
        case request([UInt64])
        /// Make a request with these that stays open.
        case begin([UInt64])
        /// Add these to the open one.
        case add([UInt64])
        /// End the open one.
        case end
    }

    private enum Request: Hashable {
        case none
        case open
        /// Only the answer is missing.
        case ended
    }

    private let limits: Limits
    private var waiting: [UInt64] = []
    private var underWay: [UInt64] = []
    private var request = Request.none
    /// When the request was begun.
    private var begun = NIODeadline.distantPast
    /// When something was told last.
    private var lastTold: NIODeadline?

    init(limits: Limits = Limits()) { self.limits = limits }

    /// Whether everything that was taken is acknowledged.
    var isEmpty: Bool { waiting.isEmpty && underWay.isEmpty }

    /// When to ask for the next step though nothing was taken: where a request is open that has to end.
    var deadline: NIODeadline? {
        guard request == .open, let lastTold else { return nil }
        return min(lastTold + limits.silence, begun + limits.longest)
    }

    /// The app has taken a notification.
    mutating func taken(_ sending: UInt64) {
        if waiting.count >= limits.waiting { waiting.removeFirst(waiting.count / 2) }
        waiting.append(sending)
    }

    /// What to do now; to be asked until it says nil.
    /// - Parameter isLast: whether no more will be taken, or no further request made on this connection.
    mutating func next(at now: NIODeadline, isLast: Bool = false) -> Step? {
        switch request {
        case .none:
            guard !waiting.isEmpty else { return nil }
            let keepComing = !isLast && !isSilent(at: now)
            request = keepComing ? .open : .ended
            begun = now
            let sendings = tell(at: now)
            return keepComing ? .begin(sendings) : .request(sendings)
        case .open where !waiting.isEmpty && underWay.count < limits.batch && now - begun < limits.longest:
            return .add(tell(at: now))
        case .open where isLast || underWay.count >= limits.batch || deadline.map { $0 <= now } ?? true:
            request = .ended
            return .end
        case .open, .ended:
            return nil
        }
    }

    private func isSilent(at now: NIODeadline) -> Bool {
        guard let lastTold else { return true }
        return now - lastTold >= limits.silence
    }

    private mutating func tell(at now: NIODeadline) -> [UInt64] {
        let told = Array(waiting.prefix(limits.batch - underWay.count))
        waiting.removeFirst(told.count)
        underWay += told
        lastTold = now
        return told
    }

    /// The courier has taken what was under way.
    /// - Returns: how many that were.
    @discardableResult
    mutating func answered() -> Int {
        defer {
            underWay = []
            request = .none
        }
        return underWay.count
    }

    /// It is not known whether the courier has: on the next connection it is told again, which does no harm.
    mutating func failed() {
        waiting = underWay + waiting
        underWay = []
        request = .none
    }
}
