package import Delivery
package import Notifications
package import Storage

/// A store that passes every call on to another one. A test's store implements only what it does differently.
package protocol ForwardingStore: Store {
    var inner: any Store { get }
}

extension ForwardingStore {
    package var secrets: any Secrets { inner.secrets }
    package var knownRegistrations: any KnownRegistrations { inner.knownRegistrations }
    package var broadcastChannels: any Channels { inner.broadcastChannels }
    package var grantStore: any GrantStore { inner.grantStore }
    package var handleEndpoints: any HandleEndpoints { inner.handleEndpoints }
    package var webPushBodies: any WebPushBodyStore { inner.webPushBodies }
    package func trouble() async -> StoreError? { await inner.trouble() }
    package func close() async { await inner.close() }

    // MARK: Accounts

    package var isCurrent: Bool { inner.isCurrent }
    package var current: AccountsSnapshot { inner.current }
    package func changes() -> AsyncStream<AccountsSnapshot> { inner.changes() }

    package func apply(_ change: AccountChange, to version: UInt64?) async throws(StoreError) -> AccountsSnapshot {
        try await inner.apply(change, to: version)
    }

    // MARK: Held notifications

    package func hold(_ push: HeldPush) async throws(StoreError) { try await inner.hold(push) }

    package func heldPlaces(at moment: Timestamp) async throws(StoreError) -> [UpstreamPlace] {
        try await inner.heldPlaces(at: moment)
    }

    package func claimHeld(
        of place: UpstreamPlace, limit: Int, at moment: Timestamp, until end: Timestamp,
    ) async throws(StoreError) -> [HeldPush] {
        try await inner.claimHeld(of: place, limit: limit, at: moment, until: end)
    }

    package func giveBackHeld(_ numbers: [Int64]) async throws(StoreError) { try await inner.giveBackHeld(numbers) }
    package func removeHeld(_ numbers: [Int64]) async throws(StoreError) { try await inner.removeHeld(numbers) }

    package func removeExpiredHeld(at moment: Timestamp, limit: Int) async throws(StoreError) -> [HeldPush] {
        try await inner.removeExpiredHeld(at: moment, limit: limit)
    }

    package func claimClearHeld(
        limit: Int, at moment: Timestamp, until end: Timestamp,
    ) async throws(StoreError) -> [HeldPush] {
        try await inner.claimClearHeld(limit: limit, at: moment, until: end)
    }

    package func replaceClearHeld(_ pushes: [HeldPush]) async throws(StoreError) {
        try await inner.replaceClearHeld(pushes)
    }

    package func overwriteClearHeld() async throws(StoreError) { try await inner.overwriteClearHeld() }

    // MARK: Registrations

    package func knownRegistration(of destination: Destination) -> KnownRegistration? {
        inner.knownRegistration(of: destination)
    }

    package func lookUp(_ destinations: [Destination]) async throws(StoreError) -> [Registration?] {
        try await inner.lookUp(destinations)
    }

    package func register(
        _ destination: Destination, tokenKeyID: UInt32, at moment: Timestamp,
    ) async throws(StoreError) -> Registration {
        try await inner.register(destination, tokenKeyID: tokenKeyID, at: moment)
    }

    package func end(_ destination: Destination, at moment: Timestamp) async throws(StoreError) -> Registration? {
        try await inner.end(destination, at: moment)
    }

    package func renewTokens(
        of device: DeviceKey, tokenKeyID: UInt32, at moment: Timestamp,
    ) async throws(StoreError) {
        try await inner.renewTokens(of: device, tokenKeyID: tokenKeyID, at: moment)
    }

    package func removeOrphaned(limit: Int) async throws(StoreError) -> Int {
        try await inner.removeOrphaned(limit: limit)
    }

    package func registrations(of device: DeviceKey) async throws(StoreError) -> [AppID: Registration] {
        try await inner.registrations(of: device)
    }

    package func devices(
        in environment: Environment, after device: DeviceID?, limit: Int,
    ) async throws(StoreError) -> [ListedDevice] {
        try await inner.devices(in: environment, after: device, limit: limit)
    }

    // MARK: Mailboxes

    package var isShared: Bool { inner.isShared }

    package func store(_ entries: [MailboxEntry]) async -> [Result<MailboxVersion, StoreError>] {
        await inner.store(entries)
    }

    package func remove(_ references: [MailboxReference]) async -> [Result<MailboxRemoval, StoreError>] {
        await inner.remove(references)
    }

    package func entries(of device: DeviceKey) async throws(StoreError) -> [StoredMailboxEntry] {
        try await inner.entries(of: device)
    }

    package func page(
        of device: DeviceKey,
        after version: MailboxVersion?,
    ) async throws(StoreError) -> MailboxPage {
        try await inner.page(of: device, after: version)
    }

    package func fitMailboxes(limit: Int) async throws(StoreError) -> Int {
        try await inner.fitMailboxes(limit: limit)
    }

    package func removeExpired(before moment: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await inner.removeExpired(before: moment, limit: limit)
    }

    package func removeExpired(
        before moment: Timestamp,
        of app: AppID,
        limit: Int,
    ) async throws(StoreError) -> Int {
        try await inner.removeExpired(before: moment, of: app, limit: limit)
    }

    package func withdraw(
        _ id: NotificationID,
        from destination: Destination,
    ) async throws(StoreError) -> MailboxVersion? {
        try await inner.withdraw(id, from: destination)
    }

    // MARK: Web Push

    package func subscriptions(with digests: [[UInt8]]) async throws(StoreError) -> [WebPushSubscription?] {
        try await inner.subscriptions(with: digests)
    }

    package func subscribe(
        _ subscription: WebPushSubscription, limit: Int,
    ) async throws(StoreError) -> WebPushSubscription {
        try await inner.subscribe(subscription, limit: limit)
    }

    package func subscriptions(of app: Destination) async throws(StoreError) -> [WebPushSubscription] {
        try await inner.subscriptions(of: app)
    }

    package func endSubscription(
        _ name: String, of app: Destination,
    ) async throws(StoreError) -> WebPushSubscription? {
        try await inner.endSubscription(name, of: app)
    }

    // MARK: Invitations

    package func invite(_ invitation: Invitation, at moment: Timestamp) async throws(StoreError) {
        try await inner.invite(invitation, at: moment)
    }

    package func invitation(_ digest: [UInt8], at moment: Timestamp) async throws(StoreError) -> Invitation? {
        try await inner.invitation(digest, at: moment)
    }

    package func invitations(
        after digest: [UInt8]?, limit: Int, at moment: Timestamp,
    ) async throws(StoreError) -> [Invitation] {
        try await inner.invitations(after: digest, limit: limit, at: moment)
    }

    package func useInvitation(
        _ digest: [UInt8], to environment: Environment, for activation: Activation, at moment: Timestamp,
    ) async throws(StoreError) -> Activation? {
        try await inner.useInvitation(digest, to: environment, for: activation, at: moment)
    }

    package func activation(
        of digest: [UInt8], to environment: Environment, at moment: Timestamp,
    ) async throws(StoreError) -> Activation? {
        try await inner.activation(of: digest, to: environment, at: moment)
    }

    package func withdrawInvitation(
        _ digest: [UInt8], at moment: Timestamp,
    ) async throws(StoreError) -> Invitation? {
        try await inner.withdrawInvitation(digest, at: moment)
    }

    // MARK: Feedback

    package func record(_ entries: [FeedbackEntry]) async throws(StoreError) { try await inner.record(entries) }

    package func entries(
        of list: FeedbackList, after mark: FeedbackMark?, limit: Int,
    ) async throws(StoreError) -> [ListedFeedback] {
        try await inner.entries(of: list, after: mark, limit: limit)
    }

    package func confirm(_ list: FeedbackList, through mark: FeedbackMark) async throws(StoreError) {
        try await inner.confirm(list, through: mark)
    }

    // MARK: AttemptNumbers

    package func attemptMark() async throws(StoreError) -> AttemptMark? { try await inner.attemptMark() }
    package func keep(_ mark: AttemptMark) async throws(StoreError) { try await inner.keep(mark) }
}
