/// Who brings to the store what waits for it: one task at a time, which goes on for as long as more has come.
struct StoringTurn {
    private var isTaken = false
    private var hasMore = false

    /// There is something to store.
    /// - Returns: whether the caller has to see to it; otherwise whoever has the turn does.
    mutating func take() -> Bool {
        hasMore = true
        defer { isTaken = true }
        return !isTaken
    }

    /// Whether there was more since the last time. If not, the turn is given back.
    mutating func goOn() -> Bool {
        defer { hasMore = false }
        isTaken = hasMore
        return hasMore
    }
}
