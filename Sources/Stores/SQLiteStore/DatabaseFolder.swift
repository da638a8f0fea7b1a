import PrivateFiles
import SQLiteSupport
import Storage

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The folder of the database. It checks who may use the folder, and what is in it.
///
/// The folder stays locked while this value exists. If another process wrote to the database, the data that this
/// process holds in memory would be out of date.
final class DatabaseFolder: Sendable {
    let path: String
    let databasePath: String
    private let descriptor: Descriptor

    /// Creates the folder if it is missing, and locks it. Only its owner can use it.
    init(path: String, file: String) throws(StoreError) {
        self.path = path
        databasePath = path + "/" + file
        try Files.makeFolder(path)
        descriptor = try Files.open(path, O_RDONLY | O_DIRECTORY)
        guard flock(descriptor.number, LOCK_EX | LOCK_NB) == 0 else {
            throw errno == EWOULDBLOCK
                ? StoreError(
                    .unavailable,
                    "\(path) is in use: stop the service that runs on it, or choose another folder.",
                )
                : Files.error("lock", path)
        }
    }

    deinit { unlock() }

    func path(of name: String) -> String { path + "/" + name }

    /// Unlocks the folder. Another process, or another store in this process, can then use it. Closing the descriptor alone does not
    /// unlock it: a child process that has not yet become another program has a copy.
    func unlock() { flock(descriptor.number, LOCK_UN) }

    // MARK: Checks before opening

    /// Checks the database's file without opening it as a database, so that nothing in it can change.
    /// - Returns: Whether the file exists.
    func hasDatabase() throws(StoreError) -> Bool {
        guard try Files.exists(databasePath) else { return false }
        let file = try Files.open(databasePath, O_RDWR)
        // Fix the permissions: whoever copied the file here may have left it readable for others.
        guard fchmod(file.number, Files.privateFile) == 0 else { throw Files.error("protect", databasePath) }
        let header = try Files.read(file, upTo: DatabaseHeader.byteCount, of: databasePath)
        guard let header = DatabaseHeader(header) else {
            throw StoreError(
                .unreadable,
                "\(databasePath) is not an SQLite database, or is damaged: move it away or restore a backup.",
            )
        }
        guard header.applicationID == SQLiteSchema.applicationID else {
            throw StoreError(
                .unreadable,
                "\(databasePath) is another program's database: move it away, or choose another folder.",
            )
        }
        return true
    }

    /// Makes a new database under a temporary name, and renames it when it is complete.
    func makeDatabase(_ make: (_ path: String) throws(SQLiteFailure) -> Void) throws(StoreError) {
        let newPath = databasePath + ".new"
        // Remove what an interrupted start may have left. No database was ever opened from these files.
        for leftover in [newPath, newPath + "-journal"] { try Files.remove(leftover) }
        // Create the file with private permissions. SQLite gives its other files the same permissions.
        _ = try Files.open(newPath, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
        do throws(SQLiteFailure) {
            try make(newPath)
        } catch {
            throw explain(error)
        }
        try Files.rename(newPath, to: databasePath)
        try Files.sync(descriptor, path)
    }

    /// Looks for damage in the write-ahead log, if a process that did not end cleanly has left one.
    /// - Parameter acceptsDamage: whether to go on without the lost transactions. The damaged log is then kept under
    ///   another name.
    /// - Returns: What was lost, as a sentence for a person; nil if nothing was lost.
    func inspectLog(acceptsDamage: Bool) throws(StoreError) -> String? {
        let log = databasePath + "-wal"
        let lost: String
        switch try WriteAheadLog.inspect(besides: databasePath) {
        case .intact: return nil
        case .damaged(let transactions):
            lost = "\(log) is damaged: \(transactions) transactions behind the damage cannot be read."
        case .unreadable: lost = "\(log) is damaged at its beginning, and nothing in it can be read."
        case .missing:
            lost =
                "\(log) is missing, with everything newer than \(databasePath); the last service did not end cleanly."
        }
        guard acceptsDamage else {
            throw StoreError(
                .unreadable,
                "\(lost) Notifications are lost: restore a backup, or start once with --accept-damaged-log to go "
                    + "on without it.")
        }
        if try Files.exists(log) {
            let copy = log + ".damaged"
            try Files.copy(log, to: copy)
            return lost + " It is kept as \(copy)."
        }
        return lost
    }

    // MARK: Errors

    /// The error message if the database could not be opened.
    func explain(_ failure: SQLiteFailure) -> StoreError {
        let error = failure.storeError
        return StoreError(error.code, "\(databasePath): \(error.cause)")
    }

    var newerVersionError: StoreError {
        StoreError(
            .unreadable,
            "\(databasePath) was made by a newer version of Carillon: start that version, or choose another folder.",
        )
    }
}

/// The header of an SQLite database (https://www.sqlite.org/fileformat2.html, 1.3).
struct DatabaseHeader: Equatable {
    static let byteCount = 100

    let applicationID: UInt32

    /// - Returns: Nil if the bytes are not the header of an SQLite database.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.byteCount, bytes.starts(with: Array("SQLite format 3\u{0}".utf8)) else { return nil }
        applicationID = bytes[68..<72].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
