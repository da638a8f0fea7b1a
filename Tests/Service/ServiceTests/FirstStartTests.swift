import Delivery
import Foundation
import SQLiteStore
import Storage
import Testing

@testable import Service

/// The development team, which the first start makes.
struct FirstStartTests {
    /// The accounts of a node that has not heard yet of what another node has changed.
    private struct LateAccounts: Accounts {
        let shared: any Accounts
        let current = AccountsSnapshot()

        var isCurrent: Bool { shared.isCurrent }

        func apply(_ change: AccountChange, to version: UInt64?) async throws(StoreError) -> AccountsSnapshot {
            try await shared.apply(change, to: version)
        }

        func changes() -> AsyncStream<AccountsSnapshot> { shared.changes() }
    }

    /// Calls `body` with two empty data folders.
    private func withFolders(_ body: (DataFolder, DataFolder) async throws -> Void) async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("first-\(UUID().uuidString.prefix(8))")
        defer { try? FileManager.default.removeItem(at: root) }
        let folders = ["one", "two"].map { DataFolder(root.appendingPathComponent($0).path) }
        for folder in folders {
            try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        }
        try await body(folders[0], folders[1])
    }

    @Test func `Of two nodes that start at once with an empty store, only one makes a team`() async throws {
        try await withFolders { one, two in
            let store = try SQLiteStore.inMemory()
            let first = try await FirstStart(accounts: store, folder: one).prepare()
            #expect(first?.bundleID == FirstStart.bundleID)
            let late = FirstStart(accounts: LateAccounts(shared: store), folder: two)
            #expect(try await late.prepare() == nil)
            #expect(store.current.teams.count == 1)
            #expect(store.current.keys.count == 1)
            #expect(try FileManager.default.contentsOfDirectory(atPath: two.path).isEmpty)
        }
    }
}
