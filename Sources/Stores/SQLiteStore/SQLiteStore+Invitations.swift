package import Delivery
import Foundation
import GRDB
package import Notifications
import SQLiteSupport
package import Storage

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

    package func invitation(_ digest: [UInt8], at moment: Timestamp) async throws(StoreError) -> Invitation? {
        try await read { database throws(SQLiteFailure) in
            try Self.invitation(digest, at: moment, in: database)
        }
    }

    private static func invitation(
        _ digest: [UInt8],
        at moment: Timestamp,
        in database: Database,
    ) throws(SQLiteFailure) -> Invitation? {
        try database.firstRow(
            "SELECT digest, environment, expires FROM invitation WHERE digest = ? AND expires > ?",
            [Data(digest), moment.column]
        ) { row throws(SQLiteFailure) in try row.invitation() }
    }

    package func invitations(
        after digest: [UInt8]?,
        limit: Int,
        at moment: Timestamp,
    ) async throws(StoreError) -> [Invitation] {
        try await read { database throws(SQLiteFailure) in
            // Every digest comes after the empty one. GRDB would pass empty data as NULL.
            try database.rows(
                """
                SELECT digest, environment, expires FROM invitation
                WHERE digest > coalesce(?, x'') AND expires > ? ORDER BY digest LIMIT ?
                """,
                [digest.map { Data($0) }, moment.column, limit],
            ) { row throws(SQLiteFailure) in try row.invitation() }
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

    package func withdrawInvitation(
        _ digest: [UInt8],
        at moment: Timestamp,
    ) async throws(StoreError) -> Invitation? {
        // A withdrawal survives a damaged write-ahead log, as the revocation of a certificate does.
        try await commits.write(isLasting: true, undoable: true) { database, _ throws(SQLiteFailure) -> Invitation? in
            let invitation = try Self.invitation(digest, at: moment, in: database)
            if invitation != nil { try database.run("DELETE FROM invitation WHERE digest = ?", [Data(digest)]) }
            return invitation
        } committed: {
            $0
        }.get()
    }
}

extension Row {
    /// Reads an invitation from the columns digest, environment and expires.
    func invitation() throws(SQLiteFailure) -> Invitation {
        guard let environment = Environment(column: integer(1)) else {
            throw .damaged("an invitation that is not valid")
        }
        return Invitation(digest: Array(blob(0)), environment: environment, expires: Timestamp(column: integer(2)))
    }
}
