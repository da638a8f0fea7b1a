package import Delivery
package import Notifications
import SQLSupport
package import Storage

// The invitations to make a grant.
extension SQLGrantStore {
    package func invite(_ invitation: GrantInvitation, at moment: Timestamp) async throws(StoreError) {
        let table = GrantInvitation.table
        try await database.write { transaction in
            try transaction.run("DELETE FROM used_grant_invitation WHERE expires <= \(moment.column)")
            try transaction.run("DELETE FROM grant_invitation WHERE expires <= \(moment.column)")
            let count = try transaction.number("SELECT count(*) FROM grant_invitation")
            guard count ?? 0 < Int64(GrantInvitation.maximumCount) else { throw StoreError.tooManyGrantInvitations }
            try transaction.run("INSERT INTO grant_invitation (\(table.list)) VALUES (\(table.values(invitation)))")
        }
    }

    package func grantInvitations(at moment: Timestamp) async throws(StoreError) -> [GrantInvitation] {
        let table = GrantInvitation.table
        return try await database.read(
            """
            SELECT \(table.columns(of: "grant_invitation")) FROM grant_invitation WHERE expires > \(moment.column)
            ORDER BY digest
            """
        ) { try table.row($0) }
    }

    package func removeGrantInvitation(
        _ digest: [UInt8],
        at moment: Timestamp,
    ) async throws(StoreError) -> GrantInvitation? {
        let table = GrantInvitation.table
        return try await database.write { transaction in
            try transaction.rows(
                """
                DELETE FROM grant_invitation WHERE digest = \(digest) AND expires > \(moment.column)
                RETURNING \(table.list)
                """
            ) { try table.row($0) }.first
        }
    }

    package func useGrantInvitation(
        _ digest: [UInt8],
        for key: [UInt8],
        grant: GrantID,
        at moment: Timestamp,
    ) async throws(StoreError) -> (used: UsedGrantInvitation, isNew: Bool)? {
        let (table, unused) = (UsedGrantInvitation.table, GrantInvitation.table)
        let condition: SQLStatement = "WHERE digest = \(digest) AND expires > \(moment.column)"
        return try await database.write { transaction in
            // In PostgreSQL this locks the row. If several nodes use an invitation at once, one node removes it here, and
            // the others find it below, among the used ones.
            let taken = try transaction.rows("DELETE FROM grant_invitation \(condition) RETURNING \(unused.list)") {
                try unused.row($0)
            }
            if let invitation = taken.first {
                let used = UsedGrantInvitation(invitation: invitation, key: key, grant: grant)
                try transaction.run(
                    """
                    INSERT INTO used_grant_invitation (\(table.list)) VALUES (\(table.values(used)))
                    ON CONFLICT (digest) DO UPDATE SET \(table.replacements())
                    """)
                return (used: used, isNew: true)
            }
            let found = try transaction.rows(
                "SELECT \(table.columns(of: "used_grant_invitation")) FROM used_grant_invitation \(condition)"
            ) { try table.row($0) }
            guard let used = found.first, used.key == key else { return nil }
            return (used: used, isNew: false)
        }
    }

    package func restore(_ used: UsedGrantInvitation) async throws(StoreError) {
        let unused = GrantInvitation.table
        try await database.write { transaction in
            let removed = try transaction.run(
                """
                DELETE FROM used_grant_invitation WHERE digest = \(used.invitation.digest) AND public_key = \(used.key)
                    AND NOT EXISTS (SELECT 1 FROM gateway_grant WHERE id = \(used.grant.rawValue))
                """)
            guard removed == 1 else { return }
            try transaction.run(
                "INSERT INTO grant_invitation (\(unused.list)) VALUES (\(unused.values(used.invitation)))")
        }
    }

    // MARK: Copying

    package func usedGrantInvitations(
        after digest: [UInt8]?,
        limit: Int,
    ) async throws(StoreError) -> [UsedGrantInvitation] {
        let table = UsedGrantInvitation.table
        return try await database.read(
            """
            SELECT \(table.columns(of: "used_grant_invitation")) FROM used_grant_invitation
            WHERE digest > \(digest ?? []) ORDER BY digest LIMIT \(limit)
            """
        ) { try table.row($0) }
    }

    package func usedCodes(after code: UsedCode?, limit: Int) async throws(StoreError) -> [UsedCode] {
        let table = UsedCode.table
        let (grant, digest) = (code?.grant.rawValue ?? "", code?.digest ?? [])
        return try await database.read(
            """
            SELECT \(table.columns(of: "grant_code")) FROM grant_code
            WHERE grant_id > \(grant) OR (grant_id = \(grant) AND digest > \(digest))
            ORDER BY grant_id, digest LIMIT \(limit)
            """
        ) { try table.row($0) }
    }

    package func fill(_ used: [UsedGrantInvitation]) async throws(StoreError) {
        let table = UsedGrantInvitation.table
        var statements: [SQLStatement] = []
        for one in used {
            let values = try table.values(one)
            statements.append("INSERT INTO used_grant_invitation (\(table.list)) VALUES (\(values))")
        }
        try await database.write(statements)
    }

    package func fill(_ codes: [UsedCode]) async throws(StoreError) {
        let table = UsedCode.table
        var statements: [SQLStatement] = []
        for code in codes {
            let values = try table.values(code)
            statements.append("INSERT INTO grant_code (\(table.list)) VALUES (\(values))")
        }
        try await database.write(statements)
    }
}
