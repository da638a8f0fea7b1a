package import Delivery
package import Notifications
import PostgresClient
import PostgresSupport

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

    package func isInvited(
        _ digest: [UInt8],
        to environment: Environment,
        at moment: Timestamp,
    ) async throws(StoreError) -> Bool {
        try await read(
            "SELECT 1 FROM carillon.invitation WHERE digest = $1 AND environment = $2 AND expires > $3",
            [.bytes(digest), .integer(environment.column), .integer(moment.column)]
        ).count > 0
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
}
