import CommonTesting
import Delivery
import Foundation
import Notifications
import SQLiteSupport
import Storage
import Testing

@testable import SQLiteStore

/// Writes to deleted files fail, although SQLite reports success.
@Suite("The files of an open database")
struct DatabaseFilesTests {
    private func expectUseless(_ store: SQLiteStore, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        for result in await store.store([Example.entry(id: 2), Example.entry(Example.destination(2), id: 3)]) {
            let error = #expect(throws: StoreError.self, sourceLocation: sourceLocation) { try result.get() }
            #expect(error?.code == .unavailable, sourceLocation: sourceLocation)
            #expect(error?.cause.contains("restore a backup") == true, sourceLocation: sourceLocation)
        }
        #expect(await store.trouble()?.code == .unavailable, sourceLocation: sourceLocation)
    }

    @Test(arguments: ["", "-wal", "-shm"])
    func `After one of the database's files was deleted, nothing is accepted`(_ suffix: String) async throws {
        try await withStore { store, path in
            for result in await store.store([Example.entry()]) { _ = try result.get() }
            #expect(await store.trouble() == nil)
            try FileManager.default.removeItem(atPath: path + "/" + SQLiteStore.fileName + suffix)
            try await expectUseless(store)
            // What was stored before can still be delivered.
            let stored = try await store.entries(of: Example.destination().deviceKey)
            #expect(stored.map(\.entry.notification.id.low) == [1])
        }
    }

    @Test
    func `After the folder was moved nothing is accepted, even if it is moved back: others may have used it`()
        async throws
    {
        try await withStore { store, path in
            try FileManager.default.moveItem(atPath: path, toPath: path + "-moved")
            try await expectUseless(store)
            try FileManager.default.moveItem(atPath: path + "-moved", toPath: path)
            try await expectUseless(store)
        }
    }

    @Test
    func `After another file has replaced one of the database's files, nothing is accepted`() async throws {
        try await withStore { store, path in
            let file = path + "/" + SQLiteStore.fileName
            try FileManager.default.copyItem(atPath: file, toPath: file + "-copy")
            try FileManager.default.removeItem(atPath: file)
            try FileManager.default.moveItem(atPath: file + "-copy", toPath: file)
            try await expectUseless(store)
        }
    }

    @Test
    func `A transaction that is in progress when the files are deleted is not answered as stored`() async throws {
        try await withStore { store, path in
            let file = path + "/" + SQLiteStore.fileName
            // Deletes the file during the transaction, after the check at its beginning.
            let result: Result<Void, StoreError> = await store.commits.write(undoable: false) {
                _, _ throws(SQLiteFailure) in
                unlink(file)
            } committed: { _ in
            }
            #expect(throws: StoreError.self) { try result.get() }
            try await expectUseless(store)
        }
    }
}
