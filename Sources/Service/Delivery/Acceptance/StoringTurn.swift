/// Makes sure that only one task at a time passes notifications to the store. That task continues until no new
/// notifications have come.
struct StoringTurn {
    private var isRunning = false
    private var hasMore = false

    /// Says that there is something to store.
    /// - Returns: Whether the caller has to store it. If not, a running task does.
    mutating func request() -> Bool {
        hasMore = true
        defer { isRunning = true }
        return !isRunning
    }

    /// Whether more has come since the last call, so that the task has to go on. If not, its turn ends, and another
    /// task may begin.
    mutating func goOn() -> Bool {
        assert(isRunning, "Two tasks store at the same time.")
        defer { hasMore = false }
        isRunning = hasMore
        return hasMore
    }
}
