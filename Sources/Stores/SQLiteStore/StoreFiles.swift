import GRDB
import PrivateFiles
import SQLiteSupport
import Storage

/// What a store in a folder has, and a store in memory does not.
struct StoreFiles: Sendable {
    let folder: DatabaseFolder
    let database: DatabaseFiles
    let secrets: FileSecrets
    /// See ``SQLiteStore/loss``.
    let loss: String?

    /// Opens the database of a folder. Creates the folder and its files if they do not exist.
    static func open(_ path: String, acceptsDamage: Bool) throws(StoreError) -> (StoreFiles, DatabasePool) {
        let folder = try DatabaseFolder(path: path, file: SQLiteStore.fileName)
        var loss: String?
        if try folder.hasDatabase() {
            loss = try folder.inspectLog(acceptsDamage: acceptsDamage)
        } else {
            try DatabaseOpening.create(in: folder)
        }
        let pool = try DatabaseOpening.open(in: folder, keepsLog: loss == nil)
        let files = StoreFiles(
            folder: folder, database: try DatabaseFiles(of: folder.databasePath),
            secrets: try FileSecrets(folder: folder.path(of: SQLiteStore.secretsFolderName)), loss: loss)
        return (files, pool)
    }
}
