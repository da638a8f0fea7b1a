import AccountTables
package import Delivery
package import Notifications
import SQLiteSupport
import SQLSupport
package import Storage

extension SQLiteStore: Invitations {
    /// Changes the invitations in a transaction.
    /// - Parameter isLasting: whether the change survives a damaged write-ahead log.
    private func change<Value: Sendable>(
        isLasting: Bool = false,
        _ body: @escaping @Sendable (any SQLTransaction) throws -> Value,
    ) async throws(StoreError) -> Value {
        try await commits.write(isLasting: isLasting, undoable: true) { database, _ throws(SQLiteFailure) in
            try database.sql(body)
        } committed: {
            $0
        }.get()
    }

    package func invite(_ invitation: Invitation, at moment: Timestamp) async throws(StoreError) {
        let isKept = try await change { transaction in
            try transaction.run(InvitationStatements.removeExpired(at: moment))
            return try transaction.run(InvitationStatements.add(invitation)) == 1
        }
        guard isKept else { throw .tooManyInvitations }
    }

    func invitations(_ statement: SQLStatement) async throws(StoreError) -> [Invitation] {
        try await read { database throws(SQLiteFailure) in
            try database.sql { try $0.rows(statement) { try Invitation.table.row($0) } }
        }
    }

    package func invitation(_ digest: [UInt8], at moment: Timestamp) async throws(StoreError) -> Invitation? {
        try await invitations(InvitationStatements.select(digest, at: moment)).first
    }

    package func invitations(
        after digest: [UInt8]?,
        limit: Int,
        at moment: Timestamp,
    ) async throws(StoreError) -> [Invitation] {
        try await invitations(InvitationStatements.page(after: digest, limit: limit, at: moment))
    }

    package func useInvitation(
        _ digest: [UInt8],
        to environment: Environment,
        at moment: Timestamp,
    ) async throws(StoreError) -> Bool {
        try await change { try $0.run(InvitationStatements.use(digest, to: environment, at: moment)) == 1 }
    }

    package func withdrawInvitation(
        _ digest: [UInt8],
        at moment: Timestamp,
    ) async throws(StoreError) -> Invitation? {
        // A withdrawal survives a damaged write-ahead log, as the revocation of a certificate does.
        try await change(isLasting: true) { transaction in
            try transaction.rows(InvitationStatements.withdraw(digest, at: moment)) { try Invitation.table.row($0) }
                .first
        }
    }
}
