import Delivery
import Logging

/// Says in the service's own log that the store is of no use: when that begins, and when it is over.
struct StoreWatch {
    /// How often it is looked at: soon enough for whoever looks for the reason of a 503.
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
            note(await store.trouble())
            // It only ends early when the task is cancelled, and then so does the loop.
            try? await Task.sleep(for: Self.interval)
        }
    }

    mutating func note(_ found: StoreError?) {
        defer { trouble = found }
        switch (trouble, found) {
        case (_, let found?) where found != trouble:
            logger.error("The store is not usable", metadata: ["cause": "\(found.cause)"])
        case (_?, nil): logger.notice("The store is usable again")
        default: break
        }
    }
}
