package import Delivery
package import Notifications
package import Storage

// What `Delivery` uses in place of the store if devices are made of their tokens (``VirtualDevices/contents(of:app:service:)``).

/// The registrations of a store, and those of devices that are not in it yet.
package struct SeenRegistrations: Registrations {
    private let store: any Registrations
    private let devices: VirtualDevices

    package init(_ store: any Registrations, _ devices: VirtualDevices) {
        self.store = store
        self.devices = devices
    }

    package func knownRegistration(of destination: Destination) -> KnownRegistration? {
        completed(store.knownRegistration(of: destination), destination)
    }

    package func knownRegistration(ofEach destinations: [Destination]) -> [KnownRegistration?] {
        zip(store.knownRegistration(ofEach: destinations), destinations).map(completed)
    }

    private func completed(_ known: KnownRegistration?, _ destination: Destination) -> KnownRegistration? {
        guard known == .neverRegistered else { return known }
        return devices.unstoredRegistration(destination).map { .registered($0) } ?? .neverRegistered
    }

    package func lookUp(_ destinations: [Destination]) async throws(StoreError) -> [Registration?] {
        zip(try await store.lookUp(destinations), destinations).map { found, destination in
            found ?? devices.unstoredRegistration(destination)
        }
    }

    package func register(
        _ destination: Destination,
        tokenKeyID: UInt32,
        at moment: Timestamp,
    ) async throws(StoreError) -> Registration {
        try await store.register(destination, tokenKeyID: tokenKeyID, at: moment)
    }

    package func end(_ destination: Destination, at moment: Timestamp) async throws(StoreError) -> Registration? {
        try await store.end(destination, at: moment)
    }

    package func renewTokens(of device: DeviceKey, tokenKeyID: UInt32, at moment: Timestamp) async throws(StoreError) {
        try await store.renewTokens(of: device, tokenKeyID: tokenKeyID, at: moment)
    }

    package func removeOrphaned(limit: Int) async throws(StoreError) -> Int {
        try await store.removeOrphaned(limit: limit)
    }

    package func registrations(of device: DeviceKey) async throws(StoreError) -> [AppID: Registration] {
        try await store.registrations(of: device)
    }

    package func devices(
        in environment: Environment,
        after device: DeviceID?,
        limit: Int,
    ) async throws(StoreError) -> [ListedDevice] {
        try await store.devices(in: environment, after: device, limit: limit)
    }
}

/// The mailboxes of a store, which registers a device before something is stored for it.
package struct SeenMailboxes: Mailboxes {
    private let store: any Mailboxes
    private let devices: VirtualDevices

    package init(_ store: any Mailboxes, _ devices: VirtualDevices) {
        self.store = store
        self.devices = devices
    }

    package var isShared: Bool { store.isShared }

    package func store(_ entries: [MailboxEntry]) async -> [Result<MailboxVersion, StoreError>] {
        let devices = devices
        await withDiscardingTaskGroup { group in
            // Together, so that a store can write them to disk in one transaction.
            for device in Set(entries.map(\.destination.deviceKey)) where device.environment == .development {
                // If this fails, storing fails too, and says why.
                group.addTask { try? await devices.registerIfMade(device.device) }
            }
        }
        return await store.store(entries)
    }

    package func remove(_ references: [MailboxReference]) async -> [Result<MailboxRemoval, StoreError>] {
        await store.remove(references)
    }

    package func entries(of device: DeviceKey) async throws(StoreError) -> [StoredMailboxEntry] {
        try await store.entries(of: device)
    }

    package func page(
        of device: DeviceKey,
        after version: MailboxVersion?,
    ) async throws(StoreError) -> MailboxPage {
        try await store.page(of: device, after: version)
    }

    package func contents(of destinations: [Destination]) async -> [Result<[StoredMailboxEntry], StoreError>] {
        await store.contents(of: destinations)
    }

    package func fitMailboxes(limit: Int) async throws(StoreError) -> Int {
        try await store.fitMailboxes(limit: limit)
    }

    package func removeExpired(before moment: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await store.removeExpired(before: moment, limit: limit)
    }
}
