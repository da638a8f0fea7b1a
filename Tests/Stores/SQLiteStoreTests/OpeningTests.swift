import CommonTesting
import Foundation
import GRDB
import Notifications
import PrivateFiles
import Storage
import Testing

@testable import SQLiteStore
import SQLiteSupport

@Suite("Opening a folder")
struct OpeningTests {
    @Test
    func `Opening creates the folder and a database, with a log and full synchronisation`() async throws {
        try await withStore { store, path in
            let header = try #require(FileManager.default.contents(atPath: path + "/carillon.sqlite"))
            #expect(DatabaseHeader(Array(header.prefix(100)))?.applicationID == 0x4361_7269)
            let settings = try await store.connections.writeWithoutTransaction { database in
                try ["journal_mode", "synchronous", "foreign_keys"].map {
                    try String.fetchOne(database, sql: "PRAGMA \($0)")
                }
            }
            #expect(settings == ["wal", "2", "1"])
        }
    }

    @Test
    func `Only the owner can read the files`() async throws {
        try await withStore { store, path in
            _ = await store.store([Example.entry()])
            _ = try await store.secrets.keep([1], as: #require(SecretName(rawValue: "secret")))
            var permissions: [String: Int] = [:]
            for name in [
                "", "/carillon.sqlite", "/carillon.sqlite-wal", "/carillon.sqlite-shm", "/secrets", "/secrets/secret",
            ] {
                let attributes = try FileManager.default.attributesOfItem(atPath: path + name)
                permissions[name] = try #require(attributes[.posixPermissions] as? Int)
            }
            #expect(permissions.filter { $0.value != 0o600 } == ["": 0o700, "/secrets": 0o700])
        }
    }

    @Test
    func `Opening removes the permissions of others`() async throws {
        try await withTemporaryPath { path in
            try await SQLiteStore.open(folder: path).close()
            let file = path + "/carillon.sqlite"
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
            try await SQLiteStore.open(folder: path).close()
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test
    func `A second store is refused while the first has the folder open`() async throws {
        try await withStore { _, path in
            let error = try await openingError(path)
            #expect(error.code == .unavailable)
            #expect(error.cause.contains("in use"))
        }
    }

    @Test
    func `An interrupted start does not prevent the next one`() async throws {
        try await withTemporaryPath { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            try Data("half".utf8).write(to: URL(fileURLWithPath: path + "/carillon.sqlite.new"))
            try await SQLiteStore.open(folder: path).close()
            #expect(!FileManager.default.fileExists(atPath: path + "/carillon.sqlite.new"))
        }
    }

    // MARK: What is not ours

    /// Expects that opening fails as described and leaves the database's file as it was.
    private func expectRefusal(_ path: String, _ code: StoreError.Code, saying words: String) async throws {
        let file = path + "/carillon.sqlite"
        let before = FileManager.default.contents(atPath: file)
        let error = try await openingError(path)
        #expect(error.code == code)
        #expect(error.cause.contains(words))
        #expect(error.cause.contains(path))
        #expect(FileManager.default.contents(atPath: file) == before)
    }

    @Test
    func `A database of a newer version is refused and not changed`() async throws {
        try await withTemporaryPath { path in
            try await SQLiteStore.open(folder: path).close()
            let queue = try DatabaseQueue(path: path + "/carillon.sqlite")
            try await queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('9999')") }
            try queue.close()
            try await expectRefusal(path, .unreadable, saying: "newer version")
        }
    }

    @Test
    func `Another program's database is refused and not changed`() async throws {
        try await withTemporaryPath { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            let queue = try DatabaseQueue(path: path + "/carillon.sqlite")
            try await queue.write { try $0.execute(sql: "CREATE TABLE t (a); INSERT INTO t VALUES (1)") }
            try queue.close()
            try await expectRefusal(path, .unreadable, saying: "another program's")
        }
    }

    @Test(arguments: ["", "text", String(repeating: "x", count: 9999)])
    func `A file that is not a database is refused and not changed`(_ contents: String) async throws {
        try await withTemporaryPath { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            try Data(contents.utf8).write(to: URL(fileURLWithPath: path + "/carillon.sqlite"))
            try await expectRefusal(path, .unreadable, saying: "not an SQLite database")
        }
    }

    @Test
    func `A damaged database is refused and not changed`() async throws {
        try await withTemporaryPath { path in
            let store = try await SQLiteStore.open(folder: path)
            for app in 1...100 as ClosedRange<UInt32> {
                _ = try await store.register(Example.destination(app: app), tokenKeyID: 1, at: Example.moment)
            }
            await store.close()
            let url = URL(fileURLWithPath: path + "/carillon.sqlite")
            var bytes = try Data(contentsOf: url)
            // Damage everything but the header on the first page, and what follows it.
            bytes.replaceSubrange(100..., with: Data(repeating: 0xee, count: bytes.count - 100))
            try bytes.write(to: url)
            try await expectRefusal(path, .unreadable, saying: "damaged")
        }
    }

    // MARK: Folders that cannot be used

    @Test
    func `If there is a file in place of the folder, the error says so`() async throws {
        try await withTemporaryPath { path in
            try Data("x".utf8).write(to: URL(fileURLWithPath: path))
            let error = try await openingError(path)
            #expect(error.code == .unavailable)
            #expect(error.cause.contains("choose another folder"))
        }
    }

    @Test
    func `A folder in a missing folder is not created`() async throws {
        try await withTemporaryPath { path in
            let error = try await openingError(path + "/missing/data")
            #expect(error.code == .unavailable)
            #expect(error.cause.contains("create the folder above it"))
        }
    }

    // This is not possible for root, who may read and write everything.
    @Test(
        .enabled(if: geteuid() != 0),
        arguments: [0o000, 0o500])
    func `If permissions for the folder are missing, the error says what to do`(_ permissions: Int) async throws {
        try await withTemporaryPath { path in
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: permissions],
            )
            let error = try await openingError(path)
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
            #expect(error.code == .unavailable)
            #expect(error.cause.contains("access"))
        }
    }

    @Test(.enabled(if: geteuid() != 0))
    func `If the database cannot be written, the error says what to do`() async throws {
        try await withTemporaryPath { path in
            try await SQLiteStore.open(folder: path).close()
            let file = path + "/carillon.sqlite"
            try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: file)
            let error = try await openingError(path)
            #expect(error.code == .unavailable)
            #expect(error.cause.contains("access"))
        }
    }
}
