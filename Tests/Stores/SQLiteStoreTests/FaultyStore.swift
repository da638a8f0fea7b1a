import AccountTables
import Delivery
import DeliveryTesting
import Notifications
import SQLiteStore
import Storage
import Synchronization

/// A store that breaks one of the ports' promises.
final class FaultyStore: ForwardingStore {
    enum Fault: CaseIterable {
        /// Storing does not check that the app is on its device.
        case storesForRemoved
        /// Removing an app, or renewing tokens, leaves its mailbox full.
        case keepsMailboxes
        /// Registering does not check that the device was revoked.
        case registersRevoked
        /// Registering leaves the device token on its feedback list.
        case keepsFeedback
        /// A removal empties the mailbox, whatever version it has.
        case removesWhateverIsThere
        /// Versions are used again.
        case repeatsVersions
        /// The names of secrets that another node adds are not reported.
        case hidesNewSecrets
        /// The last value of a secret is kept, not the first.
        case overwritesSecrets
        /// The keys of a deleted team stay valid.
        case keepsKeys
        /// The data of deleted apps stays.
        case keepsOrphans
        /// The delivery log gets no events.
        case tellsNobody
        /// The immediate answers about registrations are wrong.
        case saysWrongThing
        /// Invitations never expire.
        case keepsInvitations
        /// A device that did not get its certificate gets none.
        case forgetsActivations
        /// A withdrawn invitation can still be used.
        case usesWithdrawn
        /// Revoking an administrator has no effect.
        case trustsRevokedAdministrators
        /// Devices are listed in no particular order.
        case listsInAnyOrder
        /// The last mark of the attempts' numbers is kept, not the greatest.
        case keepsLastMark
        /// Apps keep the newest notification, whatever they are set to.
        case keepsNewestAlone
        /// Mailboxes that keep more have no bound.
        case keepsWithoutBound
        /// Mailboxes do not lose what they hold beyond a lower bound.
        case fitsNothing
        /// What mailboxes keep is read backwards.
        case readsBackwards
        /// A subscription that is made again has the endpoint of the one before.
        case repeatsEndpoints
        /// The end of a subscription leaves its queue.
        case keepsQueues
        /// A message that is stored after the end of its subscription stays.
        case storesForEnded
        /// A withdrawn message is delivered.
        case deliversWithdrawn
        /// A subscription has one message, as an app's mailbox has.
        case queuesOne
        /// An app may have any number of subscriptions.
        case subscribesWithoutLimit
    }

    private struct State {
        /// Notifications that stay in mailboxes because of the fault.
        var left: [Destination: StoredMailboxEntry] = [:]
        var listed: [ListedFeedback] = []
        var accounts: AccountsSnapshot?
        var invited: Set<[UInt8]> = []
        var mark: AttemptMark?
        var seeds: [String: WebPushSubscription] = [:]
    }

    private let fault: Fault
    private let memory: SQLiteStore
    var inner: any Store { memory }
    private let state = Mutex(State())

    init(_ fault: Fault, log: any DeliveryLog) throws {
        self.fault = fault
        memory = try .inMemory(log: fault == .tellsNobody ? NoDeliveryLog() : log)
    }

    var secrets: any Secrets { FaultySecrets(fault, memory.secrets) }
    var knownRegistrations: any KnownRegistrations { self }
}

private final class FaultySecrets: Secrets {
    private let fault: FaultyStore.Fault
    private let secrets: any Secrets

    init(_ fault: FaultyStore.Fault, _ secrets: any Secrets) {
        self.fault = fault
        self.secrets = secrets
    }

    var isShared: Bool { secrets.isShared }
    func secret(_ name: SecretName) async throws(StoreError) -> [UInt8]? { try await secrets.secret(name) }

    func keep(_ value: [UInt8], as name: SecretName) async throws(StoreError) -> [UInt8] {
        let kept = try await secrets.keep(value, as: name)
        return fault == .overwritesSecrets ? value : kept
    }

    func nameStream() -> AsyncStream<SecretName> {
        guard fault == .hidesNewSecrets else { return secrets.nameStream() }
        return AsyncStream { $0.finish() }
    }
}

extension FaultyStore {
    // MARK: Mailboxes

    func store(_ entries: [MailboxEntry]) async -> [Result<MailboxVersion, StoreError>] {
        let results = await memory.store(entries)
        return zip(entries, results).map { entry, result in
            switch (fault, result) {
            case (.repeatsVersions, .success): .success(MailboxVersion(rawValue: 1))
            case (.storesForRemoved, .failure): .success(leave(entry))
            case (.storesForEnded, .failure) where entry.destination.isSubscription: .success(leave(entry))
            default: result
            }
        }
    }

    private func leave(_ entry: MailboxEntry) -> MailboxVersion {
        let version = MailboxVersion(rawValue: .max)
        state.withLock { $0.left[entry.destination] = StoredMailboxEntry(entry: entry, version: version) }
        return version
    }

    func remove(_ references: [MailboxReference]) async -> [Result<MailboxRemoval, StoreError>] {
        guard fault == .removesWhateverIsThere else { return await memory.remove(references) }
        var present: [MailboxReference] = []
        for reference in references {
            let held = (try? await memory.entries(of: reference.destination.deviceKey)) ?? []
            let version = held.first { $0.entry.destination == reference.destination }?.version
            present.append(MailboxReference(destination: reference.destination, version: version ?? reference.version))
        }
        return await memory.remove(present)
    }

    func entries(of device: DeviceKey) async throws(StoreError) -> [StoredMailboxEntry] {
        let left = state.withLock { $0.left.values.filter { $0.entry.destination.deviceKey == device } }
        let entries = try await memory.entries(of: device)
        if fault == .queuesOne {
            let last = Dictionary(
                entries.map { ($0.entry.destination, $0.version) }, uniquingKeysWith: { max($0, $1) })
            return entries.filter { !$0.entry.destination.isSubscription || last[$0.entry.destination] == $0.version }
        }
        return (fault == .readsBackwards ? entries.reversed() : entries) + left
    }

    func withdraw(
        _ id: NotificationID,
        from destination: Destination,
    ) async throws(StoreError) -> MailboxVersion? {
        guard fault == .deliversWithdrawn else { return try await memory.withdraw(id, from: destination) }
        let held = try await memory.entries(of: destination.deviceKey)
        return held.first { $0.entry.destination == destination && $0.entry.notification.id == id }?.version
    }

    func fitMailboxes(limit: Int) async throws(StoreError) -> Int {
        fault == .fitsNothing ? 0 : try await memory.fitMailboxes(limit: limit)
    }

    /// If the fault keeps them, records the contents of the device's mailboxes.
    private func keep(of device: DeviceKey, where condition: (Destination) -> Bool) async throws(StoreError) {
        guard fault == .keepsMailboxes else { return }
        for held in try await memory.entries(of: device) where condition(held.entry.destination) {
            state.withLock { $0.left[held.entry.destination] = held }
        }
    }
}

extension FaultyStore {
    // MARK: Web Push

    func subscribe(
        _ subscription: WebPushSubscription,
        limit: Int,
    ) async throws(StoreError) -> WebPushSubscription {
        guard fault == .repeatsEndpoints else {
            return try await memory.subscribe(subscription, limit: fault == .subscribesWithoutLimit ? .max : limit)
        }
        let first = state.withLock { state in
            let first = state.seeds[subscription.name] ?? subscription
            state.seeds[subscription.name] = first
            return first
        }
        return try await memory.subscribe(first, limit: limit)
    }

    func endSubscription(_ name: String, of app: Destination) async throws(StoreError) -> WebPushSubscription? {
        if fault == .keepsQueues {
            for held in try await memory.entries(of: app.deviceKey) where held.entry.destination.isSubscription {
                state.withLock { $0.left[held.entry.destination] = held }
            }
        }
        return try await memory.endSubscription(name, of: app)
    }
}

extension FaultyStore {
    // MARK: Registrations

    func knownRegistration(of destination: Destination) -> KnownRegistration? {
        fault == .saysWrongThing ? .neverRegistered : memory.knownRegistration(of: destination)
    }

    func register(
        _ destination: Destination,
        tokenKeyID: UInt32,
        at moment: Timestamp,
    ) async throws(StoreError) -> Registration {
        if fault == .keepsFeedback {
            let list = FeedbackList(environment: destination.environment, app: destination.app)
            let listed = try await memory.entries(of: list, after: nil, limit: 100)
            state.withLock { $0.listed += listed }
        }
        do {
            return try await memory.register(destination, tokenKeyID: tokenKeyID, at: moment)
        } catch {
            guard fault == .registersRevoked else { throw error }
            return Registration(firstSealedWith: tokenKeyID, at: moment)
        }
    }

    func end(_ destination: Destination, at moment: Timestamp) async throws(StoreError) -> Registration? {
        try await keep(of: destination.deviceKey) { $0 == destination }
        return try await memory.end(destination, at: moment)
    }

    func renewTokens(of device: DeviceKey, tokenKeyID: UInt32, at moment: Timestamp) async throws(StoreError) {
        try await keep(of: device) { _ in true }
        try await memory.renewTokens(of: device, tokenKeyID: tokenKeyID, at: moment)
    }

    func removeOrphaned(limit: Int) async throws(StoreError) -> Int {
        fault == .keepsOrphans ? 0 : try await memory.removeOrphaned(limit: limit)
    }

    func devices(
        in environment: Environment,
        after device: DeviceID?,
        limit: Int,
    ) async throws(StoreError) -> [ListedDevice] {
        let devices = try await memory.devices(in: environment, after: device, limit: limit)
        return fault == .listsInAnyOrder ? devices.reversed() : devices
    }
}

extension FaultyStore {
    // MARK: Accounts

    var current: AccountsSnapshot { state.withLock { $0.accounts } ?? memory.current }

    func apply(_ change: AccountChange, to version: UInt64?) async throws(StoreError) -> AccountsSnapshot {
        let before = memory.current
        if fault == .trustsRevokedAdministrators, case .revokeAdministrator = change { return before }
        if fault == .keepsNewestAlone, case .setKeep = change { return before }
        if fault == .keepsWithoutBound, case .setKeep(let bundleID, _) = change {
            return try await memory.apply(.setKeep(bundleID, MailboxBound.maximumCount), to: version)
        }
        let after = try await memory.apply(change, to: version)
        guard fault == .keepsKeys, case .deleteTeam = change else { return after }
        let faulty = AccountsSnapshot(
            version: after.version, teams: Array(after.teams.values), apps: Array(after.apps.values),
            keys: Array(before.keys.values), certificates: Array(after.certificates.values),
            revokedDevices: after.revokedDevices, administrators: Array(after.administrators.values))
        state.withLock { $0.accounts = faulty }
        return faulty
    }
}

extension FaultyStore {
    // MARK: Invitations

    func invite(_ invitation: Invitation, at moment: Timestamp) async throws(StoreError) {
        state.withLock { _ = $0.invited.insert(invitation.digest) }
        try await memory.invite(invitation, at: moment)
    }

    func useInvitation(
        _ digest: [UInt8],
        to environment: Environment,
        for activation: Activation,
        at moment: Timestamp,
    ) async throws(StoreError) -> Activation? {
        let used = try await memory.useInvitation(digest, to: environment, for: activation, at: moment)
        switch fault {
        case .keepsInvitations: return used ?? (state.withLock { $0.invited.contains(digest) } ? activation : nil)
        // An activation that is there and is another request's.
        case .forgetsActivations: return used == activation ? used : nil
        default: return used
        }
    }

    func withdrawInvitation(_ digest: [UInt8], at moment: Timestamp) async throws(StoreError) -> Invitation? {
        guard fault == .usesWithdrawn else { return try await memory.withdrawInvitation(digest, at: moment) }
        return try await memory.invitation(digest, at: moment)
    }
}

extension FaultyStore {
    // MARK: Feedback and numbers

    func entries(
        of list: FeedbackList,
        after mark: FeedbackMark?,
        limit: Int,
    ) async throws(StoreError) -> [ListedFeedback] {
        try await memory.entries(of: list, after: mark, limit: limit) + state.withLock { $0.listed }
    }

    func attemptMark() async throws(StoreError) -> AttemptMark? {
        let kept = try await memory.attemptMark()
        return fault == .keepsLastMark ? state.withLock { $0.mark } : kept
    }

    func keep(_ mark: AttemptMark) async throws(StoreError) {
        state.withLock { $0.mark = mark }
        try await memory.keep(mark)
    }
}
