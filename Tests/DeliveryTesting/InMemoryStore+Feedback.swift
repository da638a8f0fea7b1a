package import Delivery
import Synchronization

extension InMemoryStore: Feedback {
    package func note(_ entries: [FeedbackEntry]) async throws(StoreError) {
        state.withLock { state in
            for entry in entries where entry.agrees(with: state.registrations[entry.destination]) {
                let isListed = state.feedback.values.contains {
                    $0.destination == entry.destination && $0.generation == entry.generation
                }
                guard !isListed else { continue }
                state.lastMark += 1
                state.feedback[FeedbackMark(rawValue: state.lastMark)] = entry
            }
        }
    }

    package func take(
        _ list: FeedbackList,
        after mark: FeedbackMark?,
        limit: Int,
    ) async throws(StoreError) -> [TakenFeedback] {
        state.withLock { state in
            state.feedback
                .filter { $0.value.list == list && $0.key > mark ?? FeedbackMark(rawValue: 0) }
                .sorted { $0.key < $1.key }
                .prefix(limit)
                .map { TakenFeedback(mark: $0.key, token: $0.value.token, moment: $0.value.moment) }
        }
    }

    package func confirm(_ list: FeedbackList, through mark: FeedbackMark) async throws(StoreError) {
        state.withLock { state in
            state.feedback = state.feedback.filter { $0.value.list != list || $0.key > mark }
        }
    }
}

extension FeedbackEntry {
    fileprivate var list: FeedbackList { FeedbackList(environment: destination.environment, app: destination.app) }
}
