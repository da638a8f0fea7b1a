package import Delivery
import Foundation
import GRDB
package import Notifications
import SQLiteSupport

extension SQLiteStore: Invitations {
    package func invite(_ invitation: Invitation, at moment: Timestamp) async throws(StoreError) {
        let isKept = try await commits.write(undoable: true) { database, _ throws(SQLiteFailure) -> Bool in
            try database.run("DELETE FROM invitation WHERE expires <= ?", [moment.column])
            let count = try database.firstRow("SELECT count(*) FROM invitation", []) { $0.integer(0) }
            guard (count ?? 0) < InvitationLimits.maximumCount else { return false }
            try database.run(
                "INSERT OR REPLACE INTO invitation (digest, environment, expires) VALUES (?, ?, ?)",
                [Data(invitation.digest), invitation.environment.column, invitation.expires.column])
            return true
        } committed: {
            $0
        }.get()
        guard isKept else { throw .tooManyInvitations }
    }

    package func isInvited(
        _ digest: [UInt8],
        to environment: Environment,
        at moment: Timestamp,
    ) async throws(StoreError) -> Bool {
        try await read { database throws(SQLiteFailure) in
            try database.firstRow(
                "SELECT 1 FROM invitation WHERE digest = ? AND environment = ? AND expires > ?",
                [Data(digest), environment.column, moment.column]
            ) { _ in true } ?? false
        }
    }

    package func useInvitation(
        _ digest: [UInt8],
        to environment: Environment,
        at moment: Timestamp,
    ) async throws(StoreError) -> Bool {
        try await commits.write(undoable: true) { database, _ throws(SQLiteFailure) -> Bool in
            try database.run(
                "DELETE FROM invitation WHERE digest = ? AND environment = ? AND expires > ?",
                [Data(digest), environment.column, moment.column]) > 0
        } committed: {
            $0
        }.get()
    }
}
