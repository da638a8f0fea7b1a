import Delivery
import Notifications
import Synchronization

/// A store in which one call fails. Only changes of accounts and registrations are counted.
final class FailingStore: Store {
    private let inner: any Store
    /// The number of calls until one fails; nil if none has to fail.
    private let left = Mutex<Int?>(nil)

    /// - Parameter channels: the channels in place of the store's; nil for the store's.
    init(_ store: any Store, channels: (any Channels)? = nil) {
        inner = store
        broadcastChannels = channels ?? store.broadcastChannels
    }

    /// Makes one call fail: the one with this number, counted from now on.
    func fail(_ number: Int) { left.withLock { $0 = number } }

    /// Whether a call still has to fail. Afterwards, none has to fail.
    func takeLeft() -> Bool {
        left.withLock { left in
            defer { left = nil }
            return left != nil
        }
    }

    private func count() throws(StoreError) {
        let fails = left.withLock { left in
            guard let number = left else { return false }
            left = number > 1 ? number - 1 : nil
            return number <= 1
        }
        if fails { throw StoreError(.unavailable, "The test wants this call to fail.") }
    }

    var secrets: any Secrets { inner.secrets }
    var knownRegistrations: any KnownRegistrations { inner.knownRegistrations }
    let broadcastChannels: any Channels
    func trouble() async -> StoreError? { await inner.trouble() }
    func close() async { await inner.close() }
}

extension FailingStore: Accounts {
    var isCurrent: Bool { inner.isCurrent }
    var current: AccountsSnapshot { inner.current }
    func changes() -> AsyncStream<AccountsSnapshot> { inner.changes() }

    func apply(_ change: AccountChange, to version: UInt64?) async throws(StoreError) -> AccountsSnapshot {
        try count()
        return try await inner.apply(change, to: version)
    }
}

extension FailingStore: Registrations {
    func known(_ destination: Destination) -> KnownRegistration? { inner.known(destination) }

    func lookUp(_ destinations: [Destination]) async throws(StoreError) -> [Registration?] {
        try await inner.lookUp(destinations)
    }

    func register(
        _ destination: Destination,
        tokenKeyID: UInt32,
        at moment: Timestamp,
    ) async throws(StoreError) -> Registration {
        try count()
        return try await inner.register(destination, tokenKeyID: tokenKeyID, at: moment)
    }

    func end(_ destination: Destination, at moment: Timestamp) async throws(StoreError) -> Registration? {
        try count()
        return try await inner.end(destination, at: moment)
    }

    func renewTokens(of device: DeviceKey, tokenKeyID: UInt32, at moment: Timestamp) async throws(StoreError) {
        try await inner.renewTokens(of: device, tokenKeyID: tokenKeyID, at: moment)
    }

    func removeOrphaned(limit: Int) async throws(StoreError) -> Int { try await inner.removeOrphaned(limit: limit) }

    func registrations(of device: DeviceKey) async throws(StoreError) -> [AppID: Registration] {
        try await inner.registrations(of: device)
    }

    func devices(
        in environment: Environment,
        after device: DeviceID?,
        limit: Int,
    ) async throws(StoreError) -> [ListedDevice] {
        try await inner.devices(in: environment, after: device, limit: limit)
    }
}

extension FailingStore: Mailboxes {
    var isShared: Bool { inner.isShared }

    func store(_ entries: [MailboxEntry]) async -> [Result<MailboxVersion, StoreError>] {
        await inner.store(entries)
    }

    func remove(_ references: [MailboxReference]) async -> [Result<MailboxRemoval, StoreError>] {
        await inner.remove(references)
    }

    func entries(of device: DeviceKey) async throws(StoreError) -> [StoredMailboxEntry] {
        try await inner.entries(of: device)
    }

    func removeExpired(before moment: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await inner.removeExpired(before: moment, limit: limit)
    }
}

extension FailingStore: Invitations {
    func invite(_ invitation: Invitation, at moment: Timestamp) async throws(StoreError) {
        try await inner.invite(invitation, at: moment)
    }

    func isInvited(
        _ digest: [UInt8],
        to environment: Environment,
        at moment: Timestamp,
    ) async throws(StoreError) -> Bool {
        try await inner.isInvited(digest, to: environment, at: moment)
    }

    func useInvitation(
        _ digest: [UInt8],
        to environment: Environment,
        at moment: Timestamp,
    ) async throws(StoreError) -> Bool {
        try await inner.useInvitation(digest, to: environment, at: moment)
    }
}

extension FailingStore: Feedback {
    func note(_ entries: [FeedbackEntry]) async throws(StoreError) { try await inner.note(entries) }

    func take(
        _ list: FeedbackList,
        after mark: FeedbackMark?,
        limit: Int,
    ) async throws(StoreError) -> [TakenFeedback] {
        try await inner.take(list, after: mark, limit: limit)
    }

    func confirm(_ list: FeedbackList, through mark: FeedbackMark) async throws(StoreError) {
        try await inner.confirm(list, through: mark)
    }
}

extension FailingStore: AttemptNumbers {
    func attemptMark() async throws(StoreError) -> AttemptMark? { try await inner.attemptMark() }
    func keep(_ mark: AttemptMark) async throws(StoreError) { try await inner.keep(mark) }
}
