package import Delivery
package import Notifications
import Synchronization

/// All ports over dictionaries behind one lock: for tests of what uses the ports. Nothing survives it.
package final class InMemoryStore: Sendable {
    struct State {
        var accounts = AccountsSnapshot()
        var lastAppID: UInt32 = 0
        var listeners: [AsyncStream<AccountsSnapshot>.Continuation] = []
        var registrations: [Destination: Registration] = [:]
        var mailboxes: [Destination: StoredMailboxEntry] = [:]
        var lastVersion: UInt64 = 0
        var secrets: [SecretName: [UInt8]] = [:]
        var invitations: [[UInt8]: Invitation] = [:]
        var feedback: [FeedbackMark: FeedbackEntry] = [:]
        var lastMark: UInt64 = 0
    }

    let state = Mutex(State())

    package init() {}
}

// MARK: - Mailboxes

extension InMemoryStore: Mailboxes {
    package func store(_ entries: [MailboxEntry]) async -> [Result<MailboxVersion, StoreError>] {
        state.withLock { state in
            entries.map { entry in
                state.lastVersion += 1
                let version = MailboxVersion(rawValue: state.lastVersion)
                state.mailboxes[entry.destination] = StoredMailboxEntry(entry: entry, version: version)
                return .success(version)
            }
        }
    }

    package func remove(_ references: [MailboxReference]) async -> [Result<MailboxRemoval, StoreError>] {
        state.withLock { state in
            references.map { reference in
                guard state.mailboxes[reference.destination]?.version == reference.version else {
                    return .success(.superseded)
                }
                state.mailboxes[reference.destination] = nil
                return .success(.removed)
            }
        }
    }

    package func entries(of device: DeviceKey) async throws(StoreError) -> [StoredMailboxEntry] {
        state.withLock { state in
            state.mailboxes.values
                .filter { $0.entry.destination.deviceKey == device }
                .sorted { $0.version.rawValue < $1.version.rawValue }
        }
    }

    package func removeExpired(before moment: Timestamp, limit: Int) async throws(StoreError) -> Int {
        state.withLock { state in
            let expired = state.mailboxes.values.filter { $0.entry.expires < moment }.prefix(max(0, limit))
            for entry in expired { state.mailboxes[entry.entry.destination] = nil }
            return expired.count
        }
    }
}

// MARK: - Registrations

extension InMemoryStore: Registrations {
    package func known(_ destination: Destination) -> KnownRegistration? {
        state.withLock { $0.registrations[destination].map(KnownRegistration.registered) ?? .neverRegistered }
    }

    package func lookUp(_ destinations: [Destination]) async throws(StoreError) -> [Registration?] {
        state.withLock { state in destinations.map { state.registrations[$0] } }
    }

    package func register(
        _ destination: Destination,
        tokenKeyID: UInt32,
        at moment: Timestamp,
    ) async throws(StoreError) -> Registration {
        try state.withLock { state throws(StoreError) in
            guard state.accounts.revokedDevices[destination.deviceKey] == nil else {
                throw .revoked(destination.device)
            }
            var registration =
                state.registrations[destination]
                ?? Registration(
                    generation: 1,
                    tokenKeyID: tokenKeyID,
                    tokenSince: moment,
                    isActive: true,
                    changed: moment,
                )
            if !registration.isActive {
                registration.isActive = true
                registration.changed = moment
                state.feedback = state.feedback.filter {
                    $0.value.destination != destination || $0.value.generation != registration.generation
                }
            }
            state.registrations[destination] = registration
            return registration
        }
    }

    package func end(_ destination: Destination, at moment: Timestamp) async throws(StoreError) -> Registration? {
        state.withLock { state in
            guard var registration = state.registrations[destination] else { return nil }
            if registration.isActive {
                registration.isActive = false
                registration.changed = moment
            }
            state.registrations[destination] = registration
            state.mailboxes[destination] = nil
            return registration
        }
    }

    package func renewTokens(
        of device: DeviceKey,
        tokenKeyID: UInt32,
        at moment: Timestamp,
    ) async throws(StoreError) {
        state.withLock { state in
            for (destination, registration) in state.registrations where destination.deviceKey == device {
                let wasActive = registration.isActive
                state.registrations[destination] = Registration(
                    generation: registration.generation + 1,
                    tokenKeyID: tokenKeyID,
                    tokenSince: moment,
                    isActive: false,
                    changed: wasActive ? moment : registration.changed,
                )
                state.mailboxes[destination] = nil
            }
        }
    }

    package func registrations(of device: DeviceKey) async throws(StoreError) -> [AppID: Registration] {
        state.withLock { state in
            var registrations: [AppID: Registration] = [:]
            for (destination, registration) in state.registrations where destination.deviceKey == device {
                registrations[destination.app] = registration
            }
            return registrations
        }
    }
}

// MARK: - Secrets

extension InMemoryStore: Secrets {
    package func secret(_ name: SecretName) async throws(StoreError) -> [UInt8]? {
        state.withLock { $0.secrets[name] }
    }

    package func keep(_ value: [UInt8], as name: SecretName) async throws(StoreError) -> [UInt8] {
        state.withLock { state in
            let kept = state.secrets[name] ?? value
            state.secrets[name] = kept
            return kept
        }
    }
}
