import CampaignStore
import Logging
import Notifications
import Storage

/// Deletes messages that ended long ago, with their outcomes.
actor MessageCleaning {
    private let store: any CampaignStore
    /// For how long ended messages are kept, in days; 0 for ever.
    private let days: Double
    private let clock: ProviderClock
    private let logger: Logger
    private var isClosed = false
    private lazy var dueWork = DueWork(clock: clock) { [weak self] in await self?.runOnce() }

    init(_ store: any CampaignStore, days: Double, clock: ProviderClock, logger: Logger) {
        self.store = store
        self.days = days
        self.clock = clock
        self.logger = logger
    }

    /// Deletes old messages now and then. Called when the server starts. Returns at once.
    func runDue() {
        guard days > 0 else { return }
        logger.info(
            "Messages and their outcomes are deleted some days after their end; CARILLON_PROVIDER_LIMIT_MESSAGE_DAYS sets it",
            metadata: ["days": "\(days)"])
        Task { await dueWork.runDue() }
    }

    /// - Returns: When to run again.
    private func runOnce() async -> Timestamp? {
        let now = clock.now()
        let age = UInt64(days * 86_400_000)  // fits: at most a hundred years, by ProviderServerLimits.settings
        let oldest = Timestamp(milliseconds: now.milliseconds - min(now.milliseconds, age))
        do throws(StoreError) {
            let messages = try await store.endedMessages(
                before: oldest, limit: ProviderServerLimits.cleanedTogether)
            for message in messages {
                guard !isClosed else { return nil }
                try await store.deleteMessage(message)
            }
            if !messages.isEmpty { logger.info("Old messages were deleted", metadata: ["count": "\(messages.count)"]) }
            let isDone = messages.count < ProviderServerLimits.cleanedTogether
            return clock.now().advanced(by: isDone ? ProviderServerLimits.cleaningInterval : .seconds(1))
        } catch {
            logger.warning("Old messages cannot be deleted", metadata: ["cause": "\(error)"])
            return clock.now().advanced(by: ProviderServerLimits.cleaningInterval)
        }
    }

    func close() async {
        isClosed = true
        await dueWork.close()
    }
}
