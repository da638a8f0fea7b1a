import Delivery
import Notifications
import Synchronization

/// Mailboxes for which every app is on its device: each destination is registered before anything is stored for it the
/// first time.
final class RegisteringMailboxes: Mailboxes {
    private let ports: StoreContract.Ports
    private let registered = Mutex<Set<Destination>>([])

    init(_ ports: StoreContract.Ports) { self.ports = ports }

    var isShared: Bool { ports.mailboxes.isShared }

    func store(_ entries: [MailboxEntry]) async -> [Result<MailboxVersion, StoreError>] {
        for destination in Set(entries.map(\.destination))
        where registered.withLock({ $0.insert(destination).inserted }) {
            // What cannot be registered cannot be stored for.
            _ = try? await ports.registrations.register(destination, tokenKeyID: 1, at: Samples.moment)
        }
        return await ports.mailboxes.store(entries)
    }

    func remove(_ references: [MailboxReference]) async -> [Result<MailboxRemoval, StoreError>] {
        await ports.mailboxes.remove(references)
    }

    func entries(of device: DeviceKey) async throws(StoreError) -> [StoredMailboxEntry] {
        try await ports.mailboxes.entries(of: device)
    }

    func removeExpired(before moment: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await ports.mailboxes.removeExpired(before: moment, limit: limit)
    }
}
