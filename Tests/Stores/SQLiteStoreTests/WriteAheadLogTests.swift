import CommonTesting
import Delivery
import Foundation
import GRDB
import Notifications
import Testing

@testable import SQLiteStore
import SQLiteSupport
import Storage

/// The write-ahead log of a process that did not end cleanly, with and without damage by the disk.
@Suite("A write-ahead log that a process has left", .timeLimit(.minutes(2)))
struct WriteAheadLogTests {
    private static let frameBytes = 24 + 4096
    private static let headerBytes = 32

    /// Makes the folder of a killed service, with 20 notifications in as many transactions.
    private func withLeftFolder(_ body: (_ path: String, _ log: String) async throws -> Void) async throws {
        try await withStore { store, path in
            let key = try #require(TeamID(rawValue: "TEAM000001"))
            _ = try await store.apply(.createTeam(Team(id: key, name: "Team")))
            for number in 1...20 as ClosedRange<UInt32> {
                let entry = Example.entry(Example.destination(app: number), id: UInt64(number))
                for result in await store.store([entry]) { _ = try result.get() }
            }
            let copy = path + "-left"
            try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
            for suffix in ["", "-wal", "-shm"] {
                let name = "/" + SQLiteStore.fileName + suffix
                try FileManager.default.copyItem(atPath: path + name, toPath: copy + name)
            }
            try await body(copy, copy + "/" + SQLiteStore.fileName + "-wal")
        }
    }

    private func change(_ file: String, _ change: (inout Data) throws -> Void) throws {
        let url = URL(fileURLWithPath: file)
        var bytes = try Data(contentsOf: url)
        try change(&bytes)
        try bytes.write(to: url)
    }

    private func stored(
        _ path: String, acceptsDamage: Bool = false
    ) async throws -> (count: Int, loss: String?, teams: Int) {
        let store = try await SQLiteStore.open(folder: path, acceptsDamage: acceptsDamage)
        let count = try await store.entries(of: Example.destination().deviceKey).count
        let result = (count, store.loss, store.current.teams.count)
        await store.close()
        return result
    }

    private func expectRefusal(_ path: String, saying words: String) async throws {
        let error = try await openingError(path)
        #expect(error.code == .unreadable)
        #expect(error.cause.contains(words) && error.cause.contains("--accept-damaged-log"), "\(error.cause)")
    }

    @Test
    func `An undamaged log is accepted`() async throws {
        try await withLeftFolder { path, log in
            let before = try WriteAheadLog.inspect(besides: path + "/" + SQLiteStore.fileName)
            #expect(before == .intact)
            let (count, loss, teams) = try await stored(path)
            #expect(count == 20 && loss == nil && teams == 1)
        }
    }

    /// - Parameter byte: the byte of a frame: in its page number, salt, checksum or page.
    @Test(arguments: [2, 10, 18, 2000])
    func `A flipped bit in the middle ends the start, unless the loss is accepted; the file is kept`(
        _ byte: Int
    ) async throws {
        try await withLeftFolder { path, log in
            try change(log) { $0[Self.headerBytes + 4 * Self.frameBytes + byte] ^= 0x10 }
            let damaged = try Data(contentsOf: URL(fileURLWithPath: log))
            try await expectRefusal(path, saying: "transactions behind the damage")
            // Inspecting changes nothing.
            #expect(try Data(contentsOf: URL(fileURLWithPath: log)) == damaged)
            let (count, loss, _) = try await stored(path, acceptsDamage: true)
            #expect(count < 20)
            #expect(loss?.contains("kept as") == true)
            #expect(try Data(contentsOf: URL(fileURLWithPath: log + ".damaged")) == damaged)
            // The loss is reported only once.
            let (again, nothing, _) = try await stored(path)
            #expect(again == count && nothing == nil)
        }
    }

    @Test
    func `An incomplete last transaction after a power cut is not damage`() async throws {
        try await withLeftFolder { path, log in
            try change(log) { $0[$0.count - 100] ^= 0xff }
            let (count, loss, _) = try await stored(path)
            #expect(count == 19 && loss == nil)
        }
    }

    @Test
    func `A file that ends in the middle of a frame is not damage`() async throws {
        try await withLeftFolder { path, log in
            try change(log) { $0.removeLast(1000) }
            let (count, loss, _) = try await stored(path)
            #expect(count == 19 && loss == nil)
        }
    }

    @Test
    func `Frames of an earlier use of the file are not damage`() async throws {
        try await withLeftFolder { path, log in
            // Change the bytes after the end of the log, which have another salt.
            try change(log) { bytes in
                var old = bytes[Self.headerBytes...]
                for frame in stride(from: old.startIndex, to: old.endIndex, by: Self.frameBytes) { old[frame + 8] ^= 1 }
                bytes += old
            }
            let (count, loss, _) = try await stored(path)
            #expect(count == 20 && loss == nil)
        }
    }

    @Test(arguments: [0, 9, 17, 30])
    func `A damaged header ends the start`(_ byte: Int) async throws {
        try await withLeftFolder { path, log in
            try change(log) { $0[byte] ^= 0x40 }
            try await expectRefusal(path, saying: "damaged at its beginning")
            let (count, loss, teams) = try await stored(path, acceptsDamage: true)
            // Accounts are in the database too, and not only in the log.
            #expect(count == 0 && loss != nil && teams == 1)
        }
    }

    @Test
    func `A missing log beside its index ends the start; if both are missing, the accounts are still there`()
        async throws
    {
        try await withLeftFolder { path, log in
            try FileManager.default.removeItem(atPath: log)
            try await expectRefusal(path, saying: "is missing")
            try FileManager.default.removeItem(atPath: path + "/" + SQLiteStore.fileName + "-shm")
            let (_, loss, teams) = try await stored(path)
            #expect(loss == nil && teams == 1)
        }
    }

    // MARK: How large it gets

    private func logBytes(_ path: String) throws -> Int {
        try Data(contentsOf: URL(fileURLWithPath: path + "/" + SQLiteStore.fileName + "-wal")).count
    }

    @Test
    func `The log stays below 4 MiB, however much is stored at once, in the order of the batch`() async throws {
        try await withStore { store, path in
            for round in 0..<3 {
                let entries = (0..<2000).map { number in
                    Example.entry(
                        Example.destination(app: UInt32(number % 200) + 1), id: UInt64(round * 2000 + number + 1),
                        bytes: 4000)
                }
                let versions = try await store.store(entries).map { try $0.get() }
                #expect(versions == versions.sorted() && Set(versions).count == 2000)
                #expect(try logBytes(path) < DatabaseOpening.maximumLogBytes)
            }
            let ids = try await store.entries(of: Example.destination().deviceKey).map(\.entry.notification.id.low)
            #expect(Set(ids) == Set(5801...6000))
        }
    }

    @Test
    func `An endless reader delays nobody, and the log is cut after it has ended`() async throws {
        try await withStore { store, path in
            let entries = (1...200 as ClosedRange<UInt32>).map {
                Example.entry(Example.destination(app: $0), bytes: 4000)
            }
            let release = DispatchSemaphore(value: 0)
            await withCheckedContinuation { continuation in
                store.connections.asyncRead { database in
                    _ = try? database.get().execute(sql: "SELECT count(*) FROM meta")
                    continuation.resume()
                    release.wait()
                }
            }
            for _ in 0..<12 { for result in await store.store(entries) { _ = try result.get() } }
            release.signal()
            // The reader ends soon, and then the log is cut off by some transaction.
            while try logBytes(path) > DatabaseOpening.maximumLogBytes {
                for result in await store.store(entries) { _ = try result.get() }
            }
        }
    }
}
