import Delivery
import Storage
import Synchronization

/// Whether the service accepts requests. `/ready` shows this.
final class ServiceState: Sendable {
    private enum Phase {
        case starting
        case serving
        case draining
        case shuttingDown
    }

    private let store: any Store
    private let phase = Mutex(Phase.starting)

    init(store: any Store) { self.store = store }

    /// All listeners accept connections.
    func serve() { phase.withLock { if $0 == .starting { $0 = .serving } } }

    /// The node sends its clients to other nodes.
    func drain() { phase.withLock { if $0 == .serving { $0 = .draining } } }

    /// The service accepts nothing new.
    func shutDown() { phase.withLock { $0 = .shuttingDown } }

    /// Why the service is not ready, in a sentence for a person; nil if it is.
    func unreadiness() async -> String? {
        switch phase.withLock(\.self) {
        case .starting: return "The service is starting."
        case .draining: return "The node is being drained, or was; it accepts clients again after a restart."
        case .shuttingDown: return "The service is shutting down."
        case .serving: break
        }
        return await store.trouble()?.cause
    }
}
