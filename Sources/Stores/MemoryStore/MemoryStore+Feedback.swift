package import Delivery
import Notifications
import Synchronization

extension MemoryStore: Feedback {
    package func note(_ entries: [FeedbackEntry]) async throws(StoreError) {
        for entry in entries {
            // Check this while holding the device's lock, because the app may be registered again by now.
            devices.withShard(of: entry.destination.deviceKey) { shard in
                guard entry.agrees(with: shard.registration(of: entry.destination)) else { return }
                feedback.withLock { $0.insert(entry) }
            }
        }
    }

    package func take(
        _ list: FeedbackList,
        after mark: FeedbackMark?,
        limit: Int,
    ) async throws(StoreError) -> [TakenFeedback] {
        feedback.withLock { $0.take(list, after: mark, limit: limit) }
    }

    package func confirm(_ list: FeedbackList, through mark: FeedbackMark) async throws(StoreError) {
        feedback.withLock { $0.confirm(list, through: mark) }
    }
}
