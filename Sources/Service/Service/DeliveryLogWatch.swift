import DeliveryLogFiles
import Logging
import Synchronization

/// Writes a warning to the service's log when the delivery log begins to lose events, and a note when that ends.
final class DeliveryLogWatch: Sendable {
    private let logger: Logger
    private let lost = Mutex<UInt64>(0)

    init(_ logger: Logger) { self.logger = logger }

    func logLosses(_ summary: FileDeliveryLog.WriteSummary) {
        let losses = summary.losses
        let (before, all) = lost.withLock { lost in
            defer { lost = losses == 0 ? 0 : lost + losses }
            return (lost, lost + losses)
        }
        if before == 0, losses > 0 {
            logger.error(
                "The delivery log loses events", metadata: ["cause": "\(summary.failure?.description ?? "overload")"])
        } else if before > 0, losses == 0 {
            logger.notice("The delivery log is written again", metadata: ["lost": "\(all)"])
        }
    }
}
