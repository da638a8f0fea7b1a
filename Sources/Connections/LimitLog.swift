package import Logging
import NIOCore
import Rates
import Synchronization

/// Says in the log that a limit struck, without letting whoever strikes it fill the log: the first times each, and
/// then once in a while with how many there were in between.
package final class LimitLog: Sendable {
    private let logger: Logger
    private let states = Mutex<[String: State]>([:])

    private struct State {
        var bucket = RateBucket()
        var suppressed = 0
    }

    /// Of each limit.
    private static let rate = Rate(burst: 5, perSecond: 0.2)

    package init(_ logger: Logger) { self.logger = logger }

    /// - Parameters:
    ///   - limit: the name that docs/settings.md has for it.
    ///   - peer: whom it struck.
    package func struck(_ limit: String, peer: String) {
        let now = NIODeadline.now().uptimeNanoseconds
        let suppressed = states.withLock { states -> Int? in
            var state = states[limit] ?? State()
            let isLogged = state.bucket.admits(Self.rate, at: now)
            let suppressed = state.suppressed
            state.suppressed = isLogged ? 0 : suppressed + 1
            states[limit] = state
            return isLogged ? suppressed : nil
        }
        guard let suppressed else { return }
        logger.info(
            "A limit struck",
            metadata: ["limit": "\(limit)", "peer": .string(peer), "not-logged-before": .stringConvertible(suppressed)])
    }
}
