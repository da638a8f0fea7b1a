/// The work that waits for a connection. Its number and its bytes are limited.
struct WaitingWork: Sendable {
    private var work: [PostgresWork] = []
    private var byteCount = 0

    var count: Int { work.count }

    /// - Returns: Whether there was room for the work.
    mutating func append(_ next: PostgresWork, within limits: PostgresLimits) -> Bool {
        let bytes = next.byteCount
        guard work.count < limits.maximumWaiting, work.isEmpty || bytes <= limits.maximumWaitingBytes - byteCount else {
            return false
        }
        work.append(next)
        byteCount += bytes
        return true
    }

    /// Removes the work to send together; returns an empty array if none waits.
    mutating func removeFirst(within limits: PostgresLimits) -> [PostgresWork] {
        var bytes = 0
        var count = 0
        for next in work.prefix(limits.maximumPipelined) {
            guard count == 0 || bytes < limits.maximumPipelinedBytes else { break }
            bytes += next.byteCount
            count += 1
        }
        defer {
            work.removeFirst(count)
            byteCount -= bytes
        }
        return Array(work.prefix(count))
    }

    mutating func removeAll() -> [PostgresWork] {
        defer { self = WaitingWork() }
        return work
    }
}
