import AccountTables
package import Delivery
package import Notifications
import PostgresClient
import PostgresSupport
import SQLSupport
package import Storage

extension PostgresStore: Invitations {
    package func invite(_ invitation: Invitation, at moment: Timestamp) async throws(StoreError) {
        let statements = [InvitationStatements.removeExpired(at: moment), try InvitationStatements.add(invitation)]
        let answers = try await Self.execute(statements.map(PostgresStatement.init(from:)), on: writers[0])
        guard answers.last?.affected == 1 else { throw .tooManyInvitations }
    }

    func invitations(_ statement: SQLStatement) async throws(StoreError) -> [Invitation] {
        let rows = try await read(PostgresStatement(from: statement))
        return try rows.map { row throws(StoreError) in try Invitation.table.row(row) }
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
        let statement = InvitationStatements.use(digest, to: environment, at: moment)
        return try await Self.execute([PostgresStatement(from: statement)], on: writers[0]).first?.affected == 1
    }

    package func withdrawInvitation(
        _ digest: [UInt8],
        at moment: Timestamp,
    ) async throws(StoreError) -> Invitation? {
        let statement = InvitationStatements.withdraw(digest, at: moment)
        return try await Self.execute([PostgresStatement(from: statement)], on: writers[0]).first?.first
            .map { row throws(StoreError) in try Invitation.table.row(row) }
    }
}
