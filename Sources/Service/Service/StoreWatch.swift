import Delivery
import Logging
import Storage

/// Logs when the store becomes unusable, and when it becomes usable again.
struct StoreWatch {
    /// How often the store is checked. Within this time, the log explains why providers get 503.
    static let interval = Duration.seconds(1)

    private let store: any Store
    private let logger: Logger
    private var trouble: StoreError?

    init(_ store: any Store, _ logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// Runs until the task is cancelled.
    mutating func run() async {
        while !Task.isCancelled {
            log(await store.trouble())
            // If the task is cancelled, the sleep fails and the loop ends.
            try? await Task.sleep(for: Self.interval)
        }
    }

    private mutating func log(_ found: StoreError?) {
        defer { trouble = found }
        switch (trouble, found) {
        case (_, let found?) where found != trouble:
            logger.error("The store is not usable", metadata: ["cause": "\(found.cause)"])
        case (_?, nil): logger.notice("The store is usable again")
        default: break
        }
    }
}
