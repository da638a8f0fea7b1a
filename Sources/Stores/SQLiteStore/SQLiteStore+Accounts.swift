import AccountTables
package import Delivery
import GRDB
import SQLiteSupport
package import Storage

extension SQLiteStore: Accounts {
    package var current: AccountsSnapshot { accounts.current }

    package var isCurrent: Bool { true }

    package func changes() -> AsyncStream<AccountsSnapshot> { accounts.changes() }

    package func apply(_ change: AccountChange, to version: UInt64?) async throws(StoreError) -> AccountsSnapshot {
        let feed = accounts
        return try await commits.write(isLasting: true, undoable: true) {
            database, _ throws(SQLiteFailure) -> Application in
            let present = UInt64(clamping: try Self.meta(.accountsVersion, in: database))
            guard let snapshot = feed.snapshot(version: present), version == nil || version == present else {
                return .refused(.accountsHaveChanged)
            }
            let appID = try AccountRows.nextAppID(in: database)
            let decision = Result { () throws(StoreError) in try snapshot.applying(change, nextAppID: appID) }
            switch decision {
            case .failure(let error): return .refused(error)
            case .success(nil): return .unchanged
            case .success(let next?):
                try database.sql { try AccountRows.write(change, from: snapshot, to: next, appID: appID, $0) }
                feed.written(next)
                try Self.setMeta(.accountsVersion, to: Int64(clamping: next.version), in: database)
                return .applied(next)
            }
        } committed: { application -> Result<AccountsSnapshot, StoreError> in
            switch application {
            case .applied(let next): .success(feed.update { _ in next })
            case .unchanged: .success(feed.current)
            case .refused(let error): .failure(error)
            }
        }.get().get()
    }

    /// The result of applying a change.
    private enum Application: Sendable {
        case applied(AccountsSnapshot)
        /// The accounts already had what the change asks for.
        case unchanged
        /// The change was refused, and nothing was written.
        case refused(StoreError)
    }
}
