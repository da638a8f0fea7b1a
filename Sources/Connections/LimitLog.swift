package import Logging
import NIOCore
package import Rates
import Synchronization

/// Counts that a limit struck, and says so in the log without letting whoever strikes it fill the log: the first times
/// each, and then once in a while with how many there were in between.
package final class LimitLog: Sendable {
    private let logger: Logger
    private let count: @Sendable (Limit) -> Void
    private let rates = Mutex(LineRates<Limit>())

    /// - Parameter count: told each time, on whichever thread.
    package init(_ logger: Logger, count: @escaping @Sendable (Limit) -> Void = { _ in }) {
        self.logger = logger
        self.count = count
    }

    /// - Parameter peer: the address that it struck; nil where it was none's in particular.
    package func struck(_ limit: Limit, peer: String? = nil) {
        count(limit)
        let suppressed = rates.withLock { $0.admit(limit, at: NIODeadline.now().uptimeNanoseconds) }
        guard let suppressed else { return }
        var metadata: Logger.Metadata = [
            "limit": .string(limit.rawValue), "not-logged-before": .stringConvertible(suppressed),
        ]
        if let peer { metadata["peer"] = .string(peer) }
        logger.info("A limit struck", metadata: metadata)
    }
}
