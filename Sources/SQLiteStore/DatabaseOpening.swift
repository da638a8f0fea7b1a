import Delivery
import GRDB

/// How the database's connections are set up.
enum DatabaseOpening {
    /// For reading mailboxes beside the writer; more readers than cores gain nothing.
    static let maximumReaders = 4
    /// In seconds: how long a transaction waits for a lock that another program holds, a person's `sqlite3` for
    /// example, before what is to be written is refused.
    static let lockPatience = 2.0
    /// In KiB. The writer comes back to pages that it has just written; a reader seldom reads the same page twice,
    /// and the system caches the file as well.
    static let writerPageCache = 8 * 1024
    static let readerPageCache = 1024
    /// In pages of 4 KiB: when the log is this long, it is copied into the database. With the largest transaction
    /// (``GroupCommit/maximumPages``) the log stays below ``maximumLogBytes``.
    static let checkpointPages = 384
    /// How large the log may be: what a damage of its file can take along, and what a start after a crash has to read.
    static let maximumLogBytes = 4 << 20

    /// Makes a new database. It gets its name once it is complete, so that a database under that name is always one
    /// of ours.
    static func create(in folder: DatabaseFolder) throws(StoreError) {
        try folder.makeDatabase { path throws(SQLiteFailure) in
            do {
                let queue = try DatabaseQueue(path: path)
                try queue.inDatabase { database in
                    try database.execute(sql: "PRAGMA application_id = \(Schema.applicationID)")
                }
                try Schema.migrator.migrate(queue)
                try queue.close()
            } catch {
                throw SQLiteFailure(error)
            }
        }
    }

    static func open(in folder: DatabaseFolder) throws(StoreError) -> DatabasePool {
        let pool: DatabasePool?
        do {
            pool = try openUnlessNewer(folder.databasePath)
        } catch {
            throw folder.explain(SQLiteFailure(error))
        }
        guard let pool else { throw folder.newer }
        return pool
    }

    /// - Returns: nil for a database of a newer version, which stays as it is.
    private static func openUnlessNewer(_ path: String) throws -> DatabasePool? {
        // A pool writes to the database as soon as it is made.
        var readOnly = Configuration()
        readOnly.readonly = true
        let inspection = try DatabaseQueue(path: path, configuration: readOnly)
        let isNewer = try inspection.inDatabase { try Schema.migrator.hasBeenSuperseded($0) }
        try inspection.close()
        guard !isNewer else { return nil }

        let pool = try DatabasePool(path: path, configuration: configuration)
        try pool.writeWithoutTransaction { database in
            // GRDB sets NORMAL, with which the newest transactions may be lost with the power.
            try database.execute(sql: "PRAGMA synchronous = FULL")
        }
        try Schema.migrator.migrate(pool)
        // What a crash left in the log goes into the database, and the log begins anew: `WriteAheadLog` relies on there being
        // nothing of an earlier transaction behind its end. A full disk has no room for that, and can be read all the same.
        try? pool.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        return pool
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "SQLiteStore"
        configuration.maximumReaderCount = maximumReaders
        configuration.busyMode = .timeout(lockPatience)
        // Should a rollback fail, the next transaction tries it again, where GRDB would end the process.
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { database in
            guard !database.configuration.readonly else {
                return try database.execute(sql: "PRAGMA cache_size = -\(readerPageCache)")
            }
            try database.execute(sql: "PRAGMA cache_size = -\(writerPageCache)")
            try database.execute(sql: "PRAGMA wal_autocheckpoint = \(checkpointPages)")
        }
        return configuration
    }
}
