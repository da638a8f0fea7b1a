import AccountTables
package import Delivery
import Dispatch
import GRDB
package import Notifications
import PrivateFiles
import SQLiteSupport
package import Storage
import Synchronization

/// The embedded store: one SQLite file behind all the ports, the secrets in a folder beside it.
///
/// A write is answered after it is on the disk, with an fsync. Accounts and registrations are held in memory as
/// well, where requests read them; mailboxes are on disk alone. One process at a time can have a folder open.
///
/// For tests there is the same store with a database in memory: ``inMemory(log:clock:)``.
package final class SQLiteStore: Sendable {
    /// The database's file in the folder.
    package static let fileName = "carillon.sqlite"
    /// The folder of the secrets in the folder.
    package static let secretsFolderName = "secrets"

    /// The token keys and the certificate authority.
    package let secrets: any Secrets
    /// The secrets' folder and files that others could read before the store was opened, by path.
    package var exposedSecrets: [String] { files?.secrets.exposed ?? [] }

    /// A pool of connections; a single connection if the database is in memory.
    let connections: any DatabaseWriter
    let commits: GroupCommit
    package let grantStore: any GrantStore
    package let handleEndpoints: any HandleEndpoints
    package let webPushBodies: any WebPushBodyStore
    let mailboxVersions: VersionCounter
    /// Whether a mailbox may hold more than one notification. Once true, it stays so until the next start.
    let hasKept: Atomic<Bool>
    let registrations: RegistrationTable
    let subscribedDevices: SubscribedDevices
    /// The registrations in the current transaction. Only the writer's thread uses them.
    let writing: RegistrationsInWriting
    let accounts: AccountsFeed
    let journal: MailboxJournal
    let orphanSearch = OrphanSearch()
    /// Whether the files are closed, or are being closed.
    let isClosed = Atomic(false)
    let maximumFeedbackEntries: Int64
    /// Nil if the database is in memory.
    let files: StoreFiles?
    let openReads = OpenReads()

    /// A sentence that says what was lost with a damaged log that the administrator accepted; nil if nothing was
    /// lost.
    package var loss: String? { files?.loss }

    /// Opens the store in a folder. Creates the folder and its files if they do not exist.
    ///
    /// - Parameters:
    ///   - path: the folder's path.
    ///   - log: records the notifications that leave the mailboxes without a requested removal.
    ///   - acceptsDamage: whether to open a database whose write-ahead log is damaged: see ``loss``.
    ///   - isForCopy: whether it may be an unfinished copy, which is of no use for anything else.
    ///   - clock: tells the time, in milliseconds since 1970.
    /// - Throws: ``StoreError/Code/unreadable`` if the file is not a database of ours, is of a newer version or is
    ///   damaged, ``StoreError/Code/unavailable`` if the folder cannot be used or another process uses it. Nothing is
    ///   overwritten then.
    package static func open(
        folder path: String,
        log: any DeliveryLog = NoDeliveryLog(),
        acceptsDamage: Bool = false,
        isForCopy: Bool = false,
        clock: @escaping @Sendable () -> Timestamp = { Timestamp(milliseconds: 0) },
    ) async throws(StoreError) -> SQLiteStore {
        try await open(
            folder: path,
            maximumPendingItems: GroupCommit.defaultMaximumPendingItems,
            acceptsDamage: acceptsDamage,
            isForCopy: isForCopy,
            journal: MailboxJournal(log: log, clock: clock),
        )
    }

    static func open(
        folder path: String,
        maximumPendingItems: Int,
        acceptsDamage: Bool = false,
        isForCopy: Bool = false,
        maximumFeedbackEntries: Int64 = FeedbackList.maximumEntries,
        journal: MailboxJournal = MailboxJournal(log: NoDeliveryLog(), clock: { Timestamp(milliseconds: 0) }),
    ) async throws(StoreError) -> SQLiteStore {
        // Opening reads every registration. Do this on a separate thread, because it would block one of the few
        // threads that run tasks.
        try await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    returning: Result { () throws(StoreError) in
                        let (files, pool) = try StoreFiles.open(path, acceptsDamage: acceptsDamage)
                        let store: SQLiteStore
                        do throws(SQLiteFailure) {
                            store = try SQLiteStore(
                                pool,
                                files: files,
                                secrets: files.secrets,
                                maximumPendingItems: maximumPendingItems,
                                maximumFeedbackEntries: maximumFeedbackEntries,
                                journal: journal,
                            )
                        } catch {
                            throw files.folder.explain(error)
                        }
                        if !isForCopy { try store.checkCopy(files.folder) }
                        return store
                    }
                )
            }
        }.get()
    }

    /// Makes a store with an empty database in memory. What it keeps is lost when the process ends.
    package static func inMemory(
        log: any DeliveryLog = NoDeliveryLog(),
        clock: @escaping @Sendable () -> Timestamp = { Timestamp(milliseconds: 0) },
    ) throws(StoreError) -> SQLiteStore {
        do throws(SQLiteFailure) {
            return try SQLiteStore(
                DatabaseOpening.inMemory(),
                files: nil,
                secrets: MemorySecrets(),
                maximumPendingItems: GroupCommit.defaultMaximumPendingItems,
                maximumFeedbackEntries: FeedbackList.maximumEntries,
                journal: MailboxJournal(log: log, clock: clock),
            )
        } catch {
            throw error.storeError
        }
    }

    private init(
        _ connections: any DatabaseWriter,
        files: StoreFiles?,
        secrets: any Secrets,
        maximumPendingItems: Int,
        maximumFeedbackEntries: Int64,
        journal: MailboxJournal,
    ) throws(SQLiteFailure) {
        self.connections = connections
        self.files = files
        self.secrets = secrets
        self.maximumFeedbackEntries = maximumFeedbackEntries
        self.journal = journal
        do {
            let hasKept: Bool
            (mailboxVersions, hasKept, registrations, subscribedDevices, accounts) =
                try connections
                .writeWithoutTransaction { database in
                    (
                        VersionCounter(MailboxVersions(reserved: try Self.reservedMailboxVersions(in: database))),
                        try database.firstRow(
                            """
                            SELECT 1 FROM kept UNION ALL SELECT 1 FROM web_push_subscription LIMIT 1
                            """
                        ) { _ in true } ?? false,
                        try Self.loadRegistrations(from: database),
                        try SubscribedDevices.load(from: database),
                        AccountsFeed(try AccountRows.load(from: database))
                    )
                }
            self.hasKept = Atomic(hasKept)
        } catch {
            throw SQLiteFailure(error)
        }
        let writing = RegistrationsInWriting(registrations)
        self.writing = writing
        commits = GroupCommit(
            connections, maximumPendingItems: maximumPendingItems,
            maximumLogBytes: DatabaseOpening.maximumLogBytes, files: files?.database,
            ended: { writing.transactionEnded() })
        let database = SQLiteDatabase(connections, commits: commits)
        let grants = SQLGrantStore(database)
        grantStore = CachedGrantStore(grants)
        handleEndpoints = grants
        webPushBodies = SQLWebPushBodyStore(database)
    }

    /// Reads on a connection for readers.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws(SQLiteFailure) -> Value,
    ) async throws(StoreError) -> Value {
        guard openReads.begin() else { throw .closed }
        defer { openReads.end() }
        let result: Result<Value, SQLiteFailure> = await withCheckedContinuation { continuation in
            // No transaction is needed, because a single statement sees one state of the database.
            connections.asyncUnsafeRead { database in
                continuation.resume(
                    returning: Result { () throws(SQLiteFailure) in
                        switch database {
                        case .success(let database): try body(database)
                        case .failure(let error): throw SQLiteFailure(error)
                        }
                    }
                )
            }
        }
        do throws(SQLiteFailure) {
            return try result.get()
        } catch {
            throw error.storeError
        }
    }
}

/// The counter of mailbox versions. Only the writer uses it; the lock is there because the compiler cannot know that.
final class VersionCounter: Sendable {
    private let versions: Mutex<MailboxVersions>

    init(_ versions: MailboxVersions) { self.versions = Mutex(versions) }

    func allocate(_ count: Int) -> MailboxVersions.Allocation { versions.withLock { $0.allocate(count) } }
    func committed(_ reservation: UInt64) { versions.withLock { $0.committed(reservation) } }
}

// MARK: - Meta

extension SQLiteStore {
    static func meta(_ key: SQLiteSchema.Meta, in database: Database) throws(SQLiteFailure) -> Int64 {
        guard let value = try metaIfPresent(key, in: database) else {
            throw .damaged("\(key.rawValue) is missing")
        }
        return value
    }

    static func metaIfPresent(_ key: SQLiteSchema.Meta, in database: Database) throws(SQLiteFailure) -> Int64? {
        try database.firstRow("SELECT value FROM meta WHERE key = ?", [key.rawValue]) { $0.integer(0) }
    }

    static func reservedMailboxVersions(in database: Database) throws(SQLiteFailure) -> UInt64 {
        UInt64(clamping: try meta(.mailboxVersionsReserved, in: database))
    }

    static func setMeta(_ key: SQLiteSchema.Meta, to value: Int64, in database: Database) throws(SQLiteFailure) {
        try database.run("UPDATE meta SET value = ? WHERE key = ?", [value, key.rawValue])
    }
}
