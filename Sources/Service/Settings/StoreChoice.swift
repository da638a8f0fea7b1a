import Delivery
import MemoryStore
import SQLiteStore

/// Which store the service is on. The only place that knows all of them.
package enum StoreChoice: Sendable, Hashable {
    /// The embedded store, in the data folder.
    case sqlite
    /// In memory: nothing survives the service.
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
    /// - Parameter log: told what leaves the mailboxes otherwise than by a removal that was asked for.
    func open(
        in folder: DataFolder,
        log: any DeliveryLog,
        clock: ServiceClock,
    ) async throws(ServiceError) -> any Store {
        switch self {
        case .memory: return MemoryStore(log: log, clock: { clock.time })
        case .sqlite:
            do {
                return try await SQLiteStore.open(folder: folder.path, log: log, clock: { clock.time })
            } catch {
                throw ServiceError(.store, error.cause)
            }
        }
    }
}
