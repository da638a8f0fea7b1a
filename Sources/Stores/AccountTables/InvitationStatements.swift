package import Delivery
package import Notifications
package import SQLSupport
package import Storage

/// The statements about invitations.
package enum InvitationStatements {
    private static var columns: SQLStatement { Invitation.table.columns(of: "invitation") }

    package static func removeExpired(at moment: Timestamp) -> SQLStatement {
        "DELETE FROM invitation WHERE expires <= \(moment.column)"
    }

    /// Changes no row if there are too many invitations. If several nodes add one at the same time, each may exceed the limit
    /// by one. That is harmless.
    package static func add(_ invitation: Invitation) throws(StoreError) -> SQLStatement {
        let table = Invitation.table
        return """
            INSERT INTO invitation (\(table.list)) SELECT \(try table.values(invitation))
            WHERE (SELECT count(*) FROM invitation) < \(Int64(InvitationLimits.maximumCount))
            ON CONFLICT (digest) DO UPDATE SET \(table.replacements())
            """
    }

    package static let all: SQLStatement = "SELECT \(columns) FROM invitation"

    package static func select(_ digest: [UInt8], at moment: Timestamp) -> SQLStatement {
        "\(all) WHERE digest = \(digest) AND expires > \(moment.column)"
    }

    package static func page(after digest: [UInt8]?, limit: Int, at moment: Timestamp) -> SQLStatement {
        let isLater: SQLStatement = digest.map { "digest > \($0) AND" } ?? ""
        return "\(all) WHERE \(isLater) expires > \(moment.column) ORDER BY digest LIMIT \(limit)"
    }

    package static func use(
        _ digest: [UInt8],
        to environment: Environment,
        at moment: Timestamp,
    ) -> SQLStatement {
        """
        DELETE FROM invitation
        WHERE digest = \(digest) AND environment = \(environment.column) AND expires > \(moment.column)
        """
    }

    /// Returns the invitation that it removes.
    package static func withdraw(_ digest: [UInt8], at moment: Timestamp) -> SQLStatement {
        "DELETE FROM invitation WHERE digest = \(digest) AND expires > \(moment.column) RETURNING \(Invitation.table.list)"
    }
}
