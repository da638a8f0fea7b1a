/// Makes sure that only one task at a time hands notifications to the store. It continues for as long as more have
/// come.
struct StoringTurn {
    private var isTaken = false
    private var hasMore = false

    /// Announces that there is something to store.
    /// - Returns: Whether the caller has to store it; otherwise the task that already stores does.
    mutating func take() -> Bool {
        hasMore = true
        defer { isTaken = true }
        return !isTaken
    }

    /// Returns whether more has come since the last call. If not, another task may begin.
    mutating func goOn() -> Bool {
        defer { hasMore = false }
        isTaken = hasMore
        return hasMore
    }
}
