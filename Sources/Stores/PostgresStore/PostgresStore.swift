import AccountTables
package import Delivery
package import Notifications
package import PostgresClient
package import PostgresSupport
package import Storage
import Synchronization

/// The shared store of a cluster: all ports on a PostgreSQL database that several nodes use.
///
/// Most operations are one statement, or several that are sent together as one transaction, so they take one round
/// trip. Only changes of the accounts take more.
package final class PostgresStore: Sendable {
    package let secrets: any Secrets

    /// For the lease, the nodes, the accounts and the secrets. Transactions that store something do not delay it.
    let control: PostgresConnection
    let writers: [PostgresConnection]
    let readers: [PostgresConnection]
    package let grantStore: any GrantStore
    package let handleEndpoints: any HandleEndpoints
    package let webPushBodies: any WebPushBodyStore
    let accounts: AccountsFeed
    let sealed: SealedSecrets
    let journal: MailboxJournal
    let recentRegistrations: RecentRegistrations
    package let whereabouts = DeviceWhereabouts()
    let maximumFeedbackEntries: Int64
    let configuration: Configuration
    let nextReader = Atomic<Int>(0)
    /// When the accounts were last known to be up to date.
    let lastHeard: Mutex<ContinuousClock.Instant>
    let lease: Mutex<Lease>
    /// Names this start of the node. If the data folder is copied, two processes may have the same identity.
    let start: [UInt8]
    /// The announcements that are being removed from the store, or may have been removed without an answer.
    let announcementsInRemoval: Mutex<Set<Announcement>> = Mutex([])
    /// When this node last looked for lost nodes.
    let lastSweep = Mutex(ContinuousClock.now)
    let polling: Mutex<Task<Void, Never>?> = Mutex(nil)
    /// When storing a notification last failed because PostgreSQL's disk was full.
    let lastDiskFull = Mutex<ContinuousClock.Instant?>(nil)
    /// How long such a failure counts as trouble. On a full disk PostgreSQL still takes some changes, so one that succeeds
    /// does not mean that there is space again.
    static let diskFullMemory = Duration.seconds(5)
    /// Why the last change was not confirmed; nil if a later one was. Requests wait as long as this is so.
    let confirmationError = Mutex<StoreError?>(nil)
    /// The clock of the server that is the primary.
    let clock: Mutex<DatabaseClock>
    /// Notices that the process was stopped.
    let stopDetector = Mutex(StopDetector(at: .now))
    /// Whether a mailbox may hold more than one notification: see ``mayHaveKept``.
    let hasKept = Atomic(false)
    let isClosed = Atomic(false)
    package let position: BroadcastVersion
    /// Whether this node knows that there are channels, or were.
    let hasHeardOfChannels: Atomic<Bool>

    package struct Configuration: Sendable {
        package var location: PostgresLocation
        /// The key that encrypts secrets.
        package var storeKey: StoreKey
        /// The node that opens the store.
        package var node: PostgresNode
        /// This machine's clock, which has to agree with the server's; nil if they are not to be compared.
        package var machineTime: (@Sendable () -> Timestamp)?
        /// Whether commits may be lost when the server crashes (`synchronous_commit = off`).
        package var allowsAsynchronousCommit = false
        /// The number of connections that change something. All changes of one device go over the same connection, in
        /// their order.
        package var writers = 4
        package var readers = 2
        /// How often the store is asked for new accounts and secrets. A revocation takes effect within a second.
        package var pollInterval = Duration.milliseconds(500)
        /// How often the node's lease is renewed.
        package var leaseRenewal = Duration.seconds(5)
        /// How long after the last successful reading the accounts count as out of date.
        package var maximumSilence = AccountsLimits.maximumSilence
        /// How many entries a feedback list may hold; beyond it, the oldest are removed.
        package var maximumFeedbackEntries = FeedbackList.maximumEntries
        package var limits = PostgresLimits()

        package init(location: PostgresLocation, storeKey: StoreKey, node: PostgresNode) {
            self.location = location
            self.storeKey = storeKey
            self.node = node
        }
    }

    /// Opens the store and makes its tables if they are not there.
    /// - Throws: ``StoreError/Code/unavailable`` if the server cannot be reached, if it may lose commits, or if
    ///   another node has this node's name. ``StoreError/Code/unreadable`` if a newer version made the tables, or if
    ///   the store key is not the one that the store was made with.
    package static func open(
        _ configuration: Configuration,
        log: any DeliveryLog = NoDeliveryLog(),
        clock: @escaping @Sendable () -> Timestamp = { Timestamp(milliseconds: 0) },
    ) async throws(StoreError) -> PostgresStore {
        let first = Self.connection(configuration)
        do {
            let began = ContinuousClock.now
            let start = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
            try await PostgresSchema.all.prepare(first, clock: configuration.machineTime)
            let sealed = SealedSecrets(first, configuration.storeKey)
            try await sealed.open()
            let measured = try await measureClock(on: first)
            let snapshot = try await join(first, configuration, start, measured)
            let store = PostgresStore(
                configuration, control: first, sealed: sealed, snapshot: snapshot, start: start, began: began,
                measured: measured, position: try await newestChange(first),
                journal: MailboxJournal(log: log, clock: clock))
            if try await hasKept(on: first) { store.noteKept() }
            store.startPolling()
            store.startStopDetector()
            return store
        } catch {
            await first.close()
            throw error
        }
    }

    private init(
        _ configuration: Configuration,
        control: PostgresConnection,
        sealed: SealedSecrets,
        snapshot: AccountsSnapshot,
        start: [UInt8],
        began: ContinuousClock.Instant,
        measured: DatabaseClock,
        position: BroadcastVersion,
        journal: MailboxJournal,
    ) {
        self.configuration = configuration
        self.sealed = sealed
        secrets = sealed
        accounts = AccountsFeed(snapshot)
        lastHeard = Mutex(began)
        lease = Mutex(Lease(renewed: began))
        self.start = start
        clock = Mutex(measured)
        self.position = position
        hasHeardOfChannels = Atomic(position.rawValue > 0)
        self.journal = journal
        recentRegistrations = RecentRegistrations()
        maximumFeedbackEntries = configuration.maximumFeedbackEntries
        self.control = control
        writers = (0..<max(1, configuration.writers)).map { _ in Self.connection(configuration) }
        readers = (0..<max(1, configuration.readers)).map { _ in Self.connection(configuration, isForReading: true) }
        let database = PostgresDatabase(writers: writers, readers: readers)
        let grants = SQLGrantStore(database)
        (grantStore, handleEndpoints) = (grants, grants)
        webPushBodies = SQLWebPushBodyStore(database)
    }

    /// - Parameter isForReading: whether the connection changes nothing that has to survive a crash.
    private static func connection(
        _ configuration: Configuration,
        isForReading: Bool = false,
    ) -> PostgresConnection {
        PostgresConnection(
            to: configuration.location, name: "carillon", limits: configuration.limits,
            options: [PostgresStatement("SET search_path = carillon")] + (isForReading ? [noWaitForDisk] : []),
            allowsAsynchronousCommit: configuration.allowsAsynchronousCommit)
    }

    /// Takes a lease and reads the accounts.
    private static func join(
        _ connection: PostgresConnection,
        _ configuration: Configuration,
        _ start: [UInt8],
        _ clock: DatabaseClock,
    ) async throws(StoreError) -> AccountsSnapshot {
        let refusal: StoreError?
        do throws(PostgresError) {
            refusal = try await join(
                as: configuration.node, start: start, isStart: true, clock: clock, on: connection)
        } catch {
            throw error.startError(schema: PostgresSchema.all.schema)
        }
        if let refusal { throw refusal }
        do throws(PostgresError) {
            return try await connection.transaction { transaction throws(PostgresError) in
                try transaction.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                return try AccountRows.load(transaction)
            }
        } catch {
            throw error.startError(schema: PostgresSchema.all.schema)
        }
    }

    private static func newestChange(_ connection: PostgresConnection) async throws(StoreError) -> BroadcastVersion {
        do throws(PostgresError) {
            return try await newestChange(on: connection)
        } catch {
            throw error.startError(schema: PostgresSchema.all.schema)
        }
    }

    private static func hasKept(on connection: PostgresConnection) async throws(StoreError) -> Bool {
        do throws(PostgresError) {
            return try await connection.execute(
                """
                SELECT 1 FROM carillon.kept UNION ALL SELECT 1 FROM carillon.web_push_subscription LIMIT 1
                """
            ).count > 0
        } catch {
            throw error.startError(schema: PostgresSchema.all.schema)
        }
    }

    // MARK: Carrying out

    /// The connection for changes of a device's data.
    func writer(of device: DeviceKey) -> PostgresConnection {
        writers[Int(truncatingIfNeeded: device.device.rawValue % UInt64(writers.count))]
    }

    /// The connection for the next read.
    var reader: PostgresConnection {
        let number = nextReader.wrappingAdd(1, ordering: .relaxed).newValue
        return readers[Int(number.magnitude % UInt(readers.count))]  // fits: less than the number of connections
    }

    /// How often something is executed that the server rolls back because of other transactions.
    private static let maximumAttempts = 4

    /// Executes statements as one transaction. If the server rolls it back because of other transactions, executes
    /// them again.
    static func execute(
        _ statements: [PostgresStatement],
        on connection: PostgresConnection,
    ) async throws(StoreError) -> [PostgresRows] {
        for attempt in 1... {
            do throws(PostgresError) {
                return try await connection.execute(statements)
            } catch  where error.kind == .conflict && attempt < Self.maximumAttempts {
                continue
            } catch {
                throw error.storeError
            }
        }
        return []
    }

    func read(_ sql: StaticString, _ values: [PostgresValue]) async throws(StoreError) -> PostgresRows {
        try await read(PostgresStatement(sql, values))
    }

    func read(_ statement: PostgresStatement) async throws(StoreError) -> PostgresRows {
        var attempt = 1
        while true {
            do throws(PostgresError) {
                guard let rows = try await reader.execute([statement]).first else {
                    throw PostgresError(.unexpectedAnswer, "The server did not answer a statement.")
                }
                return rows
            } catch  where error.kind == .conflict && attempt < Self.maximumAttempts {
                attempt += 1
            } catch {
                // No statement wanted to change anything, so it is certain that nothing was changed.
                throw error.withoutChange.storeError
            }
        }
    }
}

extension PostgresStore: Store {
    package var knownRegistrations: any KnownRegistrations { recentRegistrations }
    package var broadcastChannels: any Channels { self }
    package var cluster: (any ClusterPorts)? { self }

    package func trouble() async -> StoreError? {
        if let refusal = lease.withLock(\.refusal) { return refusal }
        // First what a person can mend. A server that cannot be reached or is read-only also makes the lease run out.
        if let trouble = connectionTrouble { return trouble }
        do throws(PostgresError) {
            let rows = try await control.execute(
                "SELECT current_setting('transaction_read_only'), current_setting('synchronous_commit')")
            guard rows.first?.text(0) != "on" else { return PostgresError(.readOnly, "").storeError }
            guard configuration.allowsAsynchronousCommit || rows.first?.text(1) != "off" else {
                return PostgresServerCheck.asynchronousCommit.storeError
            }
        } catch {
            return error.withoutChange.storeError
        }
        // It may have been renewed while the server answered.
        if lease.withLock({ $0.hasRunOut(at: .now) }) { return .leaseHasRunOut }
        if let trouble = confirmationError.withLock(\.self) { return trouble }
        if let failed = lastDiskFull.withLock(\.self), failed.duration(to: .now) < Self.diskFullMemory {
            return .postgresDiskFull
        }
        return await reading()
    }

    /// How long a connection may be busy with the same statements before the node counts as not ready. A commit that
    /// waits for a synchronous standby takes milliseconds, and a checkpoint seldom a second.
    static let maximumStall = Duration.seconds(5)

    /// Why a connection cannot change anything at the moment, as far as this is known without a change.
    private var connectionTrouble: StoreError? {
        let now = ContinuousClock.now
        for connection in [control] + writers {
            if let trouble = connection.trouble { return trouble.withoutChange.storeError }
            if let since = connection.busySince, since.duration(to: now) > Self.maximumStall { return .changesStall }
        }
        return nil
    }

    package func close() async {
        isClosed.store(true, ordering: .relaxed)
        let task = polling.withLock { task in
            defer { task = nil }
            return task
        }
        task?.cancel()
        await task?.value
        await endLease()
        for connection in [control] + writers + readers { await connection.close() }
        accounts.finish()
    }
}
