/// Which notifications are to be acknowledged: one request at a time, and what gathers meanwhile goes into the next.
///
/// So a single notification is acknowledged at once, and a burst in few requests.
struct Acknowledgements: Sendable, Hashable {
    /// What one request holds at most: the body stays far below what the courier takes.
    static let batch = 1000
    /// What is remembered at most while there is no connection. The courier lets no more be under way, and knows an
    /// ended stream for ten seconds only.
    static let maximumWaiting = 10_000

    private var waiting: [UInt64] = []
    private var underWay: [UInt64] = []

    /// Whether everything that was taken is acknowledged.
    var isEmpty: Bool { waiting.isEmpty && underWay.isEmpty }

    /// The app has taken a notification.
    mutating func taken(_ sending: UInt64) {
        if waiting.count >= Self.maximumWaiting { waiting.removeFirst(waiting.count / 2) }
        waiting.append(sending)
    }

    /// What to acknowledge now; nil where there is nothing, or a request is under way.
    mutating func next() -> [UInt64]? {
        guard underWay.isEmpty, !waiting.isEmpty else { return nil }
        underWay = Array(waiting.prefix(Self.batch))
        waiting.removeFirst(underWay.count)
        return underWay
    }

    /// The courier has taken what was under way.
    mutating func answered() { underWay = [] }

    /// It is not known whether the courier has: on the next connection it is told again, which does no harm.
    mutating func failed() {
        waiting = underWay + waiting
        underWay = []
    }
}
