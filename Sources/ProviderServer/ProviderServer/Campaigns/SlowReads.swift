import Storage
import Synchronization

/// Counts the searches for recipients in a row that took too long for the store. The next one would take as long, so a
/// person has to decide what happens to the message.
final class SlowReads: Sendable {
    private let inARow = Mutex(0)

    func add(_ error: (any Error)?) {
        let isSlow = error as? StoreError == .tookTooLong
        inARow.withLock { $0 = isSlow ? $0 + 1 : 0 }
    }

    /// Why the message must not go on; nil if it may.
    var refusal: String? {
        let count = inARow.withLock { $0 }
        guard count >= ProviderServerLimits.slowReads else { return nil }
        return
            "The search for recipients took too long for the database, \(count) times in a row. Make the database "
            + "faster and resume the message, or cancel it and send it to an audience that is found sooner."
    }
}
