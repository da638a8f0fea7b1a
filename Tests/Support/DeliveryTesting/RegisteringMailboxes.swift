import Delivery
import Notifications
import Storage
import Synchronization

/// Mailboxes that register each destination before they store for it for the first time, so that every app is on its
/// device.
final class RegisteringMailboxes: Mailboxes {
    private let ports: StoreContract.Ports
    private let registered = Mutex<Set<Destination>>([])

    init(_ ports: StoreContract.Ports) { self.ports = ports }

    var isShared: Bool { ports.mailboxes.isShared }

    func store(_ entries: [MailboxEntry]) async -> [Result<MailboxVersion, StoreError>] {
        for destination in Set(entries.map(\.destination))
        where registered.withLock({ $0.insert(destination).inserted }) {
            // If this fails, storing fails too.
            _ = try? await ports.registrations.register(destination, tokenKeyID: 1, at: Samples.moment)
        }
        var results = await ports.mailboxes.store(entries)
        // On a slow machine another transaction may hold a mailbox for long. `Delivery` stores again then.
        while case let locked = results.indices.filter({ Self.isLocked(results[$0]) }), !locked.isEmpty {
            let again = await ports.mailboxes.store(locked.map { entries[$0] })
            for (index, result) in zip(locked, again) { results[index] = result }
        }
        return results
    }

    private static func isLocked(_ result: Result<MailboxVersion, StoreError>) -> Bool {
        if case .failure(let error) = result { error.code == .locked } else { false }
    }

    func remove(_ references: [MailboxReference]) async -> [Result<MailboxRemoval, StoreError>] {
        await ports.mailboxes.remove(references)
    }

    func entries(of device: DeviceKey) async throws(StoreError) -> [StoredMailboxEntry] {
        try await ports.mailboxes.entries(of: device)
    }

    func page(
        of device: DeviceKey,
        after version: MailboxVersion?,
    ) async throws(StoreError) -> MailboxPage {
        try await ports.mailboxes.page(of: device, after: version)
    }

    func contents(of destinations: [Destination]) async -> [Result<[StoredMailboxEntry], StoreError>] {
        await ports.mailboxes.contents(of: destinations)
    }

    func fitMailboxes(limit: Int) async throws(StoreError) -> Int {
        try await ports.mailboxes.fitMailboxes(limit: limit)
    }

    func removeExpired(before moment: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await ports.mailboxes.removeExpired(before: moment, limit: limit)
    }

    func removeExpired(before moment: Timestamp, of app: AppID, limit: Int) async throws(StoreError) -> Int {
        try await ports.mailboxes.removeExpired(before: moment, of: app, limit: limit)
    }
}
