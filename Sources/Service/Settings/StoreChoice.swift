import Delivery
import Logging
import MemoryStore
import SQLiteStore

/// The store of the service. Only this type knows all kinds of stores.
package enum StoreChoice: Sendable, Hashable {
    /// The embedded store, in the data folder.
    case sqlite
    /// In memory: nothing is kept after the service ends.
    case memory

    /// - Parameter text: the setting `store`.
    init(_ text: String) throws(ServiceError) {
        switch text {
        case "sqlite": self = .sqlite
        case "memory": self = .memory
        case _ where text.hasPrefix("postgresql:") || text.hasPrefix("postgres:"):
            throw ServiceError(
                .badSetting, "This build has no PostgreSQL store; the setting store takes sqlite or memory.")
        default:
            throw ServiceError(.badSetting, "The setting store is \(text); it takes one of sqlite, memory.")
        }
    }

    /// Opens the store.
    /// - Parameters:
    ///   - log: told what leaves the mailboxes otherwise than by a removal that was asked for.
    ///   - acceptsDamage: whether to go on without what a damaged write-ahead log has lost.
    func open(
        in folder: DataFolder,
        log: any DeliveryLog,
        acceptsDamage: Bool,
        clock: ServiceClock,
        logger: Logger,
    ) async throws(ServiceError) -> any Store {
        switch self {
        case .memory: return MemoryStore(log: log, clock: { clock.time })
        case .sqlite:
            do {
                let store = try await SQLiteStore.open(
                    folder: folder.path, log: log, acceptsDamage: acceptsDamage,
                    clock: { clock.time })
                if let loss = store.loss {
                    logger.warning("The store lost what was accepted", metadata: ["cause": "\(loss)"])
                }
                if !store.exposedSecrets.isEmpty {
                    logger.warning(
                        "Secrets were open to other users",
                        metadata: [
                            "paths": .array(store.exposedSecrets.map { .string($0) }),
                            "advice": "they are closed now; if somebody may have read them, start with a new folder",
                        ])
                }
                return store
            } catch {
                throw ServiceError(.store, error.cause)
            }
        }
    }
}
