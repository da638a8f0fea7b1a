import Rates

/// Limits how often each kind of line is logged: the first few times, and then at intervals, with the number of omitted
/// lines. Otherwise strangers could fill the log.
package struct LineRates<Kind: Hashable & Sendable>: Sendable {
    private struct State {
        var bucket = RateBucket()
        var suppressed = 0
    }

    /// The rate for each kind.
    private static var rate: Rate { Rate(burst: 5, perSecond: 0.2) }

    private var states: [Kind: State] = [:]

    package init() {}

    /// - Parameter now: in nanoseconds.
    /// - Returns: the number of lines omitted before this one; nil if this one is omitted too.
    package mutating func admit(_ kind: Kind, at now: UInt64) -> Int? {
        var state = states[kind] ?? State()
        let isLogged = state.bucket.admits(Self.rate, at: now)
        let suppressed = state.suppressed
        state.suppressed = isLogged ? 0 : suppressed + 1
        states[kind] = state
        return isLogged ? suppressed : nil
    }
}
