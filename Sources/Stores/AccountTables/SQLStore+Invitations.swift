package import Delivery
package import Notifications
import SQLSupport
package import Storage

// The invitations to activate a device.
extension SQLStore {
    package func invite(_ invitation: Invitation, at moment: Timestamp) async throws(StoreError) {
        let table = Invitation.table
        // The last one changes no row if there are too many invitations. If several nodes add one at the same time, each may
        // exceed the limit by one. That is harmless.
        let counts = try await change([
            "DELETE FROM used_invitation WHERE expires <= \(moment.column)",
            "DELETE FROM invitation WHERE expires <= \(moment.column)",
            """
            INSERT INTO invitation (\(table.list)) SELECT \(try table.values(invitation))
            WHERE (SELECT count(*) FROM invitation) < \(InvitationLimits.maximumCount)
            ON CONFLICT (digest) DO UPDATE SET \(table.replacements())
            """,
        ])
        guard counts.last == 1 else { throw .tooManyInvitations }
    }

    package func invitation(_ digest: [UInt8], at moment: Timestamp) async throws(StoreError) -> Invitation? {
        try await invitations("WHERE digest = \(digest) AND expires > \(moment.column)").first
    }

    package func invitations(
        after digest: [UInt8]?,
        limit: Int,
        at moment: Timestamp,
    ) async throws(StoreError) -> [Invitation] {
        let isLater: SQLStatement = digest.map { "digest > \($0) AND" } ?? ""
        return try await invitations("WHERE \(isLater) expires > \(moment.column) ORDER BY digest LIMIT \(limit)")
    }

    private func invitations(_ condition: SQLStatement) async throws(StoreError) -> [Invitation] {
        let table = Invitation.table
        return try await read("SELECT \(table.columns(of: "invitation")) FROM invitation \(condition)") {
            row throws(StoreError) in try table.row(row)
        }
    }

    package func useInvitation(
        _ digest: [UInt8],
        to environment: Environment,
        for activation: Activation,
        at moment: Timestamp,
    ) async throws(StoreError) -> Activation? {
        let table = UsedInvitation.table
        let condition: SQLStatement =
            "WHERE digest = \(digest) AND environment = \(environment.column) AND expires > \(moment.column)"
        // The first statement locks the row in PostgreSQL, so that of several nodes one finds it in the second. A node of an
        // earlier release finds no row either.
        let counts = try await change([
            "UPDATE invitation SET expires = expires \(condition)",
            """
            INSERT INTO used_invitation (\(table.list))
            SELECT digest, environment, expires, \(activation.key), \(activation.device.column), \(Array(activation.chain.utf8))
            FROM invitation \(condition) ON CONFLICT (digest) DO UPDATE SET \(table.replacements())
            """,
            "DELETE FROM invitation \(condition)",
        ])
        if counts.last == 1 { return activation }
        let used = try await self.activation(of: digest, to: environment, at: moment)
        return used?.key == activation.key ? used : nil
    }

    package func activation(
        of digest: [UInt8],
        to environment: Environment,
        at moment: Timestamp,
    ) async throws(StoreError) -> Activation? {
        try await usedInvitations(
            """
            WHERE digest = \(digest) AND environment = \(environment.column) AND expires > \(moment.column)
            """
        ).first?.activation
    }

    private func usedInvitations(_ condition: SQLStatement) async throws(StoreError) -> [UsedInvitation] {
        let table = UsedInvitation.table
        return try await read("SELECT \(table.columns(of: "used_invitation")) FROM used_invitation \(condition)") {
            row throws(StoreError) in try table.row(row)
        }
    }

    package func withdrawInvitation(
        _ digest: [UInt8],
        at moment: Timestamp,
    ) async throws(StoreError) -> Invitation? {
        let table = Invitation.table
        // A withdrawal survives a damaged write-ahead log, as the revocation of a certificate does.
        return try await change(
            "DELETE FROM invitation WHERE digest = \(digest) AND expires > \(moment.column) RETURNING \(table.list)",
            isLasting: true
        ) { row throws(StoreError) in try table.row(row) }.first
    }

    // MARK: Copying

    package func copiedInvitations() async throws(StoreError) -> [Invitation] { try await invitations("") }

    package func copiedUsedInvitations(
        after digest: [UInt8]?,
        limit: Int,
    ) async throws(StoreError) -> [UsedInvitation] {
        let isLater: SQLStatement = digest.map { "WHERE digest > \($0)" } ?? ""
        return try await usedInvitations("\(isLater) ORDER BY digest LIMIT \(limit)")
    }

    package func fill(_ invitations: [UsedInvitation]) async throws(StoreError) {
        let table = UsedInvitation.table
        try await change([
            """
            INSERT INTO used_invitation (\(table.list))
            SELECT \(table.columns(of: "n")) FROM \(try table.batch(invitations))
            """
        ])
    }

    package func fill(_ invitations: [Invitation]) async throws(StoreError) {
        let table = Invitation.table
        try await change([
            "INSERT INTO invitation (\(table.list)) SELECT \(table.columns(of: "n")) FROM \(try table.batch(invitations))"
        ])
    }
}
