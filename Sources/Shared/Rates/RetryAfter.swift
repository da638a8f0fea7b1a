/// The value of `Retry-After` in seconds (RFC 9110, 10.2.3).
package enum RetryAfter {
    /// The time until a rate admits the next request, rounded up: 1 second or more.
    /// - Parameters:
    ///   - opens: when it does, in nanoseconds.
    ///   - now: on the same clock.
    package static func seconds(until opens: UInt64, from now: UInt64) -> Int {
        let wait = opens - min(opens, now)
        return max(1, Int(clamping: wait / 1_000_000_000 + (wait % 1_000_000_000 > 0 ? 1 : 0)))
    }
}
