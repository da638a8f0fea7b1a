package import Delivery
package import Notifications

/// What the provider keeps: its apps, their installations, and messages with the outcome of each recipient.
///
/// Every change is on the disk before a call returns. A change is a function of what is stored, which the store applies
/// in one step, so two changes of one thing never lose each other.
package protocol ProviderStore: Sendable {
    // MARK: Apps

    func apps() async throws(StoreError) -> [ProviderApp]
    /// Adds an app, or replaces the one with its bundle ID.
    /// - Returns: The app with its number.
    func put(_ app: ProviderApp) async throws(StoreError) -> ProviderApp
    /// Removes an app with its installations and messages.
    func deleteApp(_ number: Int64) async throws(StoreError)

    // MARK: Installations

    func installation(_ id: String, app: Int64) async throws(StoreError) -> StoredInstallation?
    /// Changes one installation. If it gets a device token that another one has, the other one ends.
    /// - Parameter change: decides by what is stored; called once.
    /// - Returns: The result of `change`, or nil if it was deleted.
    func changeInstallation(
        _ id: String,
        app: Int64,
        _ change: @escaping @Sendable (StoredInstallation?) throws -> InstallationChange,
    ) async throws -> StoredInstallation?
    /// Adds installations, or replaces what is known of them, all in one step. Their secrets stay.
    func importInstallations(_ installations: [Installation], app: Int64) async throws(StoreError)
    /// A page of installations in the order in which they came.
    /// - Parameter after: the number of the last installation of the page before; 0 for the first page.
    func installations(app: Int64, after: Int64, limit: Int) async throws(StoreError) -> [Recipient]

    // MARK: Messages

    /// Adds a message.
    /// - Parameter idempotency: the sender's name for this request, with a digest of it.
    /// - Returns: The message, or the one that was made with this name before.
    /// - Throws: ``StoreError/Code/conflict`` if the name was used for a different request.
    func add(_ message: MessageRecord, idempotency: IdempotencyKey?) async throws(StoreError) -> MessageRecord
    func message(_ id: String) async throws(StoreError) -> MessageRecord?
    /// Changes a message's state, rate, position or cause.
    /// - Parameter change: returns an event, which is kept for the app's hooks with the change.
    /// - Returns: The changed message; nil if there is none.
    func changeMessage(
        _ id: String,
        _ change: @escaping @Sendable (inout MessageRecord) throws -> ProviderEvent?,
    ) async throws -> MessageRecord?
    /// A page of an app's messages, the newest first.
    /// - Parameters:
    ///   - app: nil for all apps.
    ///   - before: the number of the last message of the page before; nil for the first page.
    func messages(app: Int64?, before: Int64?, limit: Int) async throws(StoreError) -> [MessageRecord]
    /// The messages that are scheduled or running, the oldest first.
    func openMessages() async throws(StoreError) -> [MessageRecord]

    // MARK: Recipients and outcomes

    /// The number of the installation that came last.
    func lastInstallation() async throws(StoreError) -> Int64
    /// The time zones of an app's installations. An installation without one counts as `GMT`.
    func timeZones(app: Int64) async throws(StoreError) -> [String]
    /// A page of recipients that have no outcome yet, in the order of their numbers.
    func recipients(_ query: RecipientQuery, limit: Int) async throws(StoreError) -> [Recipient]
    /// How many recipients a message would have now.
    func count(_ query: RecipientQuery) async throws(StoreError) -> Int64
    /// Keeps outcomes with the message's new position. An outcome that is kept already stays. Ends the installations
    /// whose device token ended after it was registered.
    /// - Parameter event: makes an event of the installations that ended, which is kept with them.
    /// - Returns: How many installations ended.
    func record(
        _ outcomes: [SendOutcome],
        of message: MessageRecord,
        position: MessageRecord.Position,
        event: @escaping @Sendable ([EndedInstallation]) -> ProviderEvent,
    ) async throws(StoreError) -> Int
    /// A page of outcomes in the order of the installations.
    func outcomes(
        of message: Int64,
        reason: String?,
        after: Int64,
        limit: Int,
    ) async throws(StoreError) -> [KeptOutcome]

    // MARK: Hooks

    func hooks(app: Int64) async throws(StoreError) -> [Hook]
    /// - Throws: ``StoreError/Code/conflict`` if the app has this many already.
    func add(_ hook: Hook, limit: Int) async throws(StoreError)
    /// - Returns: Whether there was one.
    func deleteHook(_ id: String, app: Int64) async throws(StoreError) -> Bool
    /// The deliveries that have not ended, the one that is due first before the others.
    func openDeliveries(limit: Int) async throws(StoreError) -> [HookDelivery]
    /// Keeps what came of an attempt.
    func record(_ delivery: HookDelivery) async throws(StoreError)
    /// A page of a hook's deliveries, the newest first.
    func deliveries(hook: String, app: Int64, before: Int64?, limit: Int) async throws(StoreError) -> [HookDelivery]

    /// Returns why the store cannot be used; nil if it can.
    func trouble() async -> StoreError?
    func close() async
}

/// The sender's own name for a request, so that a repetition is recognised.
package struct IdempotencyKey: Sendable, Hashable {
    package var name: String
    /// SHA-256 of the request.
    package var digest: [UInt8]

    package init(name: String, digest: [UInt8]) {
        self.name = name
        self.digest = digest
    }
}

/// Which recipients of a message are asked for.
package struct RecipientQuery: Sendable, Hashable {
    package var app: Int64
    /// Recipients with an outcome of this message are left out; 0 for none.
    package var message: Int64
    package var audience: Audience
    /// Nil for both.
    package var environment: Environment?
    /// Nil for all.
    package var timeZones: [String]?
    package var after: Int64
    package var last: Int64

    package init(
        app: Int64,
        message: Int64,
        audience: Audience,
        environment: Environment? = nil,
        timeZones: [String]? = nil,
        after: Int64 = 0,
        last: Int64 = .max,
    ) {
        self.app = app
        self.message = message
        self.audience = audience
        self.environment = environment
        self.timeZones = timeZones
        self.after = after
        self.last = last
    }
}

/// An outcome with the installation that it belongs to.
package struct KeptOutcome: Sendable, Hashable {
    package var outcome: SendOutcome
    /// Nil if the installation was deleted since.
    package var installation: String?

    package init(_ outcome: SendOutcome, installation: String?) {
        self.outcome = outcome
        self.installation = installation
    }
}
