package import Delivery
package import Notifications
import PostgresClient
import PostgresSupport
package import Storage

extension PostgresStore: Invitations {
    package func invite(_ invitation: Invitation, at moment: Timestamp) async throws(StoreError) {
        let answers = try await Self.execute(
            [
                PostgresStatement("DELETE FROM carillon.invitation WHERE expires <= $1", [.integer(moment.column)]),
                // If several nodes add an invitation at the same time, each may exceed the limit by one. That is
                // harmless.
                PostgresStatement(
                    """
                    INSERT INTO carillon.invitation (digest, environment, expires)
                    SELECT $1, $2, $3 WHERE (SELECT count(*) FROM carillon.invitation) < $4
                    ON CONFLICT (digest) DO UPDATE SET environment = excluded.environment, expires = excluded.expires
                    """,
                    [
                        .bytes(invitation.digest), .integer(invitation.environment.column),
                        .integer(invitation.expires.column), .integer(Int64(InvitationLimits.maximumCount)),
                    ]),
            ], on: writers[0])
        guard answers.last?.affected == 1 else { throw .tooManyInvitations }
    }

    package func invitation(_ digest: [UInt8], at moment: Timestamp) async throws(StoreError) -> Invitation? {
        try await read(
            "SELECT digest, environment, expires FROM carillon.invitation WHERE digest = $1 AND expires > $2",
            [.bytes(digest), .integer(moment.column)]
        ).first?.invitation()
    }

    package func invitations(
        after digest: [UInt8]?,
        limit: Int,
        at moment: Timestamp,
    ) async throws(StoreError) -> [Invitation] {
        // Every digest comes after the empty one.
        let rows = try await read(
            """
            SELECT digest, environment, expires FROM carillon.invitation
            WHERE digest > coalesce($1, ''::bytea) AND expires > $2 ORDER BY digest LIMIT $3
            """,
            [.bytes(digest), .integer(moment.column), .integer(Int64(clamping: limit))])
        return try rows.map { row throws(StoreError) in try row.invitation() }
    }

    package func useInvitation(
        _ digest: [UInt8],
        to environment: Environment,
        at moment: Timestamp,
    ) async throws(StoreError) -> Bool {
        let answers = try await Self.execute(
            [
                PostgresStatement(
                    "DELETE FROM carillon.invitation WHERE digest = $1 AND environment = $2 AND expires > $3",
                    [.bytes(digest), .integer(environment.column), .integer(moment.column)])
            ], on: writers[0])
        return answers.first?.affected == 1
    }

    package func withdrawInvitation(
        _ digest: [UInt8],
        at moment: Timestamp,
    ) async throws(StoreError) -> Invitation? {
        let answers = try await Self.execute(
            [
                PostgresStatement(
                    """
                    DELETE FROM carillon.invitation WHERE digest = $1 AND expires > $2
                    RETURNING digest, environment, expires
                    """, [.bytes(digest), .integer(moment.column)])
            ], on: writers[0])
        return try answers.first?.first?.invitation()
    }
}

extension PostgresRow {
    /// Reads an invitation from the columns digest, environment and expires.
    func invitation() throws(StoreError) -> Invitation {
        guard let digest = bytes(0), let environment = integer(1).flatMap(Environment.init(column:)),
            let expires = moment(2)
        else { throw PostgresError.damaged("an invitation").storeError }
        return Invitation(digest: digest, environment: environment, expires: expires)
    }
}
