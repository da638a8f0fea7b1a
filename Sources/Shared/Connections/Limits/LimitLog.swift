package import Logging
import NIOCore
package import Rates
import Synchronization

/// Counts exceeded limits and logs them. A peer that exceeds a limit all the time cannot fill the log: each limit is
/// logged at most once in five seconds after the first five times, with the number of times that were not logged.
package final class LimitLog: Sendable {
    private let logger: Logger
    private let count: @Sendable (Limit) -> Void
    /// Counts malformed requests: the listener's name, and how many. Called with 0 when the listener begins.
    let countMalformed: @Sendable (String, Int) -> Void
    private let rates = Mutex(LineRates<Limit>())

    /// - Parameters:
    ///   - count: is called each time, on any thread.
    ///   - countMalformed: counts malformed requests, by the listener's name. Called on any thread.
    package init(
        _ logger: Logger,
        count: @escaping @Sendable (Limit) -> Void = { _ in },
        countMalformed: @escaping @Sendable (_ listener: String, _ by: Int) -> Void = { _, _ in },
    ) {
        self.logger = logger
        self.countMalformed = countMalformed
        self.count = count
    }

    /// - Parameter peer: the address of the peer that exceeded the limit; nil if it is not a limit of a single peer.
    package func limitExceeded(_ limit: Limit, peer: String? = nil) {
        count(limit)
        let suppressed = rates.withLock { $0.admit(limit, at: NIODeadline.now().uptimeNanoseconds) }
        guard let suppressed else { return }
        var metadata: Logger.Metadata = [
            "limit": .string(limit.rawValue), "not-logged-before": .stringConvertible(suppressed),
        ]
        if let peer { metadata["peer"] = .string(peer) }
        logger.info("A limit was exceeded", metadata: metadata)
    }
}
