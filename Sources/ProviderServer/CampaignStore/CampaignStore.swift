package import Notifications
package import Storage

/// Stores the provider server's apps, their installations, and messages with the outcome of each recipient.
///
/// Every change is on the disk before a call returns. A change is a function of the stored value. The store applies it
/// in one step, so concurrent changes of the same value do not overwrite each other.
///
/// Several servers may share a store. A server that sends a message or a hook's event holds it for a time, and no other
/// server sends it until that time has ended.
package protocol CampaignStore: Sendable {
    /// Whether other servers may use the store at the same time.
    var isShared: Bool { get }

    /// This machine's clock that nobody sets.
    var uptime: @Sendable () -> ContinuousClock.Instant { get }

    // MARK: Apps

    func apps() async throws(StoreError) -> [ProviderApp]
    /// Adds or changes an app. Its keys and credentials are part of the stored value, so a change that another server made
    /// a moment ago is not lost.
    /// - Parameter change: makes the new value from the stored one. Called again if the transaction has to be repeated.
    /// - Returns: The app with its number.
    func changeApp(
        _ bundleID: String,
        _ change: @escaping @Sendable (ProviderApp?) throws -> ProviderApp,
    ) async throws -> ProviderApp
    /// Deletes an app with its installations and messages, in several steps. First cancels its messages, so that no server
    /// sends them while their outcomes are being deleted. After a failure the app is still there, and can be deleted again.
    func deleteApp(_ number: Int64) async throws(StoreError)

    // MARK: Installations

    func installation(_ id: String, app: Int64) async throws(StoreError) -> StoredInstallation?
    /// Changes one installation. If it gets the device token of another installation, the other one ends.
    /// - Parameter change: makes the new value from the stored one. Called again if the transaction has to be repeated.
    /// - Returns: The result of `change`; nil if the installation was deleted.
    func changeInstallation(
        _ id: String,
        app: Int64,
        _ change: @escaping @Sendable (StoredInstallation?) throws -> InstallationChange,
    ) async throws -> StoredInstallation?
    /// Adds or replaces installations, all in one step. The secrets of replaced installations stay. So does a later time of
    /// registration of the same device token, because an import is no registration.
    func importInstallations(_ installations: [Installation], app: Int64) async throws(StoreError)
    /// Returns a page of installations in the order in which they were added.
    /// - Parameter after: the number of the last installation of the page before; 0 for the first page.
    func installations(app: Int64, after: Int64, limit: Int) async throws(StoreError) -> [Recipient]
    /// Returns the installations of a user, also those that have ended.
    func installations(app: Int64, user: String, limit: Int) async throws(StoreError) -> [Recipient]

    // MARK: Messages

    /// Adds a message.
    /// - Parameters:
    ///   - idempotency: the identifier that the sender chose for this request, and a digest of the request.
    ///   - limit: the largest number of messages of the app that are scheduled or running.
    /// - Returns: The message. If a request with this identifier was stored before, its message.
    /// - Throws: ``StoreError/Code/conflict`` if the identifier was used for a different request, or if the app already has
    ///   `limit` open messages.
    func add(
        _ message: MessageRecord,
        idempotency: IdempotencyKey?,
        limit: Int,
    ) async throws(StoreError) -> MessageRecord
    /// Returns the message that a request with this identifier made; nil if there was no such request.
    /// - Throws: ``StoreError/Code/conflict`` if the identifier was used for a different request.
    func message(app: Int64, idempotency: IdempotencyKey) async throws(StoreError) -> MessageRecord?
    func message(_ id: String) async throws(StoreError) -> MessageRecord?
    /// Deletes a message that has ended, with its outcomes, in several steps. If the server is killed in between, the
    /// message is still there, and can be deleted again.
    /// - Throws: ``StoreError/Code/conflict`` if the message has not ended, or if a server still stores its last outcomes.
    func deleteMessage(_ number: Int64) async throws(StoreError)
    /// Returns the numbers of messages that ended before a time, the oldest first. A cancelled message counts from its
    /// start.
    func endedMessages(before: Timestamp, limit: Int) async throws(StoreError) -> [Int64]
    /// Changes a message's state, rate, position or cause.
    /// - Parameter change: changes the message. It may return an event, which is stored for the app's hooks in the same
    ///   step. Called again if the transaction has to be repeated.
    /// - Returns: The changed message; nil if it does not exist.
    func changeMessage(
        _ id: String,
        _ change: @escaping @Sendable (inout MessageRecord) throws -> ProviderEvent?,
    ) async throws -> MessageRecord?
    /// Returns a page of an app's messages, the newest first.
    /// - Parameters:
    ///   - app: nil for all apps.
    ///   - before: the number of the last message of the page before; nil for the first page.
    func messages(app: Int64?, before: Int64?, limit: Int) async throws(StoreError) -> [MessageRecord]
    /// Returns the messages that are scheduled or running and that no other server holds, the oldest first. They come
    /// without their documents, which may have megabytes.
    func openMessages() async throws(StoreError) -> [MessageRecord]
    /// Takes a message for this server, or extends the time for which this server holds it. A server that was killed takes
    /// its own messages again at once.
    /// - Returns: nil if another server holds the message, or if it is neither scheduled nor running.
    func hold(_ message: Int64, for time: Duration) async throws(StoreError) -> MessageHold?
    /// Ends the time for which this server holds a message.
    func release(_ message: Int64) async throws(StoreError)

    // MARK: Recipients and outcomes

    /// Returns the number of the installation that was added last.
    func lastInstallation() async throws(StoreError) -> Int64
    /// Returns the time zones of an app's installations. An installation without a time zone counts as `GMT`.
    func timeZones(app: Int64) async throws(StoreError) -> [String]
    /// Returns the versions of an app that its installations have.
    func appVersions(app: Int64, limit: Int) async throws(StoreError) -> [String]
    /// Returns a page of recipients that have no outcome yet, in the order of their numbers.
    func recipients(_ query: RecipientQuery, limit: Int) async throws(StoreError) -> [Recipient]
    /// Returns how many recipients a message would have now.
    func count(_ query: RecipientQuery) async throws(StoreError) -> Int64
    /// Returns how many recipients a message has: those that have an outcome, and those without one that the queries
    /// find. One read counts both, so outcomes that are stored meanwhile are neither missing nor counted twice.
    /// - Parameter waiting: one query for each environment that the message is sent to.
    func recipientCount(of message: Int64, waiting: [RecipientQuery]) async throws(StoreError) -> Int64
    /// Stores outcomes with the message's new position. An outcome that is already stored is not replaced. If a 410
    /// came for a device token and the installation was not registered again since, the installation ends.
    /// - Parameter event: makes an event for hooks from the installations that ended. It is stored in the same step.
    /// - Returns: How many installations ended.
    func record(
        _ outcomes: [SendOutcome],
        of message: MessageRecord,
        position: MessageRecord.Position,
        event: @escaping @Sendable ([EndedInstallation]) -> ProviderEvent,
    ) async throws(StoreError) -> Int
    /// Ends the installations with these device tokens, which the feedback service has reported (Guide, 3.1.3). An
    /// installation that registered after the reported time stays.
    /// - Parameters:
    ///   - tokens: device tokens in lower-case hexadecimal digits, each with the time at which it ended.
    ///   - event: as in ``record(_:of:position:event:)``.
    /// - Returns: How many installations ended.
    func endInstallations(
        app: Int64,
        environment: Environment,
        tokens: [(token: String, endedAt: Timestamp)],
        event: @escaping @Sendable ([EndedInstallation]) -> ProviderEvent,
    ) async throws(StoreError) -> Int
    /// Records that the recipient of a message has opened the notification. The first time counts.
    /// - Parameter installation: the installation's identifier.
    /// - Returns: Whether the installation has got the message.
    func recordOpening(
        of message: String, by installation: String, app: Int64, at time: Timestamp
    ) async throws(StoreError) -> Bool
    /// Returns a page of the outcomes that a filter selects, in the order of the installations.
    func outcomes(
        of message: Int64,
        _ filter: OutcomeFilter,
        after: Int64,
        limit: Int,
    ) async throws(StoreError) -> [KeptOutcome]

    // MARK: Saved audiences

    /// Returns an app's saved audiences in the order of their names.
    func audiences(app: Int64) async throws(StoreError) -> [SavedAudience]
    func audience(_ name: String, app: Int64) async throws(StoreError) -> SavedAudience?
    /// Adds an audience, or replaces the one with the same name.
    /// - Returns: Whether the audience is new.
    /// - Throws: ``StoreError/Code/conflict`` if it is new and the app already has `limit` audiences.
    func put(_ audience: SavedAudience, limit: Int) async throws(StoreError) -> Bool
    /// - Returns: Whether the audience existed.
    func deleteAudience(_ name: String, app: Int64) async throws(StoreError) -> Bool

    // MARK: Hooks

    func hooks(app: Int64) async throws(StoreError) -> [Hook]
    /// - Throws: ``StoreError/Code/conflict`` if the app already has `limit` hooks.
    func add(_ hook: Hook, limit: Int) async throws(StoreError)
    /// - Returns: Whether the hook existed.
    func deleteHook(_ id: String, app: Int64) async throws(StoreError) -> Bool
    /// Returns the deliveries that have not ended and that no other server holds, without the bodies of their events. The
    /// first one is due first.
    /// - Parameter limit: how many of each hook, so that the events of one hook do not hide those of the others.
    func openDeliveries(limit: Int) async throws(StoreError) -> [HookDelivery]
    /// Takes a delivery for this server.
    /// - Returns: The body of its event; nil if another server holds it or has sent it since it was read.
    func hold(_ delivery: HookDelivery, for time: Duration) async throws(StoreError) -> [UInt8]?
    /// Stores the result of an attempt, and ends the time for which this server holds the delivery.
    func record(_ delivery: HookDelivery) async throws(StoreError)
    /// Returns a page of a hook's deliveries, the newest first, without the bodies of their events.
    func deliveries(hook: String, app: Int64, before: Int64?, limit: Int) async throws(StoreError) -> [HookDelivery]

    /// Returns why the store cannot be used; nil if it can.
    func trouble() async -> StoreError?
    func close() async
}

/// The identifier that a sender chose for a request. It lets the server recognise a repetition.
package struct IdempotencyKey: Sendable, Hashable {
    package var name: String
    /// SHA-256 of what the request says, which does not depend on how its JSON is written.
    package var digest: [UInt8]
    /// SHA-256 of the request's bytes, which version 0.2.0 stored.
    package var digestOfBytes: [UInt8]?

    package init(name: String, digest: [UInt8], digestOfBytes: [UInt8]? = nil) {
        self.name = name
        self.digest = digest
        self.digestOfBytes = digestOfBytes
    }

    /// Whether a request with this stored digest is the same one.
    func matches(digest stored: [UInt8]?) -> Bool { stored == digest || stored != nil && stored == digestOfBytes }
}

/// Selects recipients of a message.
package struct RecipientQuery: Sendable, Hashable {
    package var app: Int64
    /// The message whose recipients are wanted. Those who have an outcome of it are left out. 0 leaves out nobody.
    package var message: Int64
    package var audience: Audience
    /// The environment; nil for both.
    package var environment: Environment?
    /// The time zones; nil for all.
    package var timeZones: [String]?
    /// When the recipients are looked for. An audience may ask who was seen in the last days.
    package var now: Timestamp
    /// The versions that installations of the app have; nil if they were not read. See ``CampaignStore/prepared(_:)``.
    package var versions: [String]?
    package var after: Int64
    package var last: Int64

    package init(
        app: Int64,
        message: Int64,
        audience: Audience,
        environment: Environment? = nil,
        timeZones: [String]? = nil,
        now: Timestamp = Timestamp(milliseconds: 0),
        after: Int64 = 0,
        last: Int64 = .max,
    ) {
        self.app = app
        self.message = message
        self.audience = audience
        self.environment = environment
        self.timeZones = timeZones
        self.now = now
        self.after = after
        self.last = last
    }
}

extension CampaignStore {
    /// Reads what the query needs beside the installations. Pages of the same query are then found without reading it again.
    package func prepared(_ query: RecipientQuery) async throws(StoreError) -> RecipientQuery {
        guard query.versions == nil, query.audience.expression?.comparesVersions == true else { return query }
        var prepared = query
        let versions = try await appVersions(app: query.app, limit: Audience.maximumVersions + 1)
        guard versions.count <= Audience.maximumVersions else {
            throw StoreError(
                .conflict, "The installations have more than \(Audience.maximumVersions) versions of the app.")
        }
        prepared.versions = versions
        return prepared
    }
}

/// An outcome and the installation that it belongs to.
package struct KeptOutcome: Sendable, Hashable {
    package var outcome: SendOutcome
    /// The installation's identifier; nil if it has been deleted.
    package var installation: String?

    package init(_ outcome: SendOutcome, installation: String?) {
        self.outcome = outcome
        self.installation = installation
    }
}

extension CampaignStore {
    package var uptime: @Sendable () -> ContinuousClock.Instant { { .now } }
}
