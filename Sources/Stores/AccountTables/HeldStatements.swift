package import Delivery
package import Notifications
package import SQLSupport
package import Storage

/// The statements about held notifications.
package enum HeldStatements {
    private static var columns: SQLStatement { HeldPush.table.columns(of: "held_push") }

    /// Changes no row if there are too many. The count is that of the numbers in use, which is found without a scan. It counts
    /// those that were sent between two others as well, so it is never too low.
    package static func add(_ push: HeldPush) throws(StoreError) -> SQLStatement {
        let table = HeldPush.table
        return """
            INSERT INTO held_push (\(table.list)) SELECT \(try table.values(push))
            WHERE coalesce((SELECT max(number) FROM held_push) - (SELECT min(number) FROM held_push), -1)
                < \(HeldLimits.maximumCount - 1)
            """
    }

    package static func page(after number: Int64, limit: Int) -> SQLStatement {
        "SELECT \(columns) FROM held_push WHERE number > \(number) ORDER BY number LIMIT \(limit)"
    }

    package static func places(at moment: Timestamp) -> SQLStatement {
        "SELECT DISTINCT bundle_id, environment FROM held_push WHERE expires > \(moment.column) AND taken <= \(moment.column)"
    }

    package static func take(
        _ place: UpstreamPlace,
        limit: Int,
        at moment: Timestamp,
        until end: Timestamp,
    ) -> SQLStatement {
        """
        UPDATE held_push SET taken = \(end.column) WHERE number IN (
            SELECT number FROM held_push
            WHERE bundle_id = \(place.bundleID.rawValue) AND environment = \(place.environment.column)
                AND expires > \(moment.column) AND taken <= \(moment.column)
            ORDER BY number LIMIT \(limit) \(SQLStatement.either(sqlite: "", postgresql: "FOR UPDATE SKIP LOCKED"))
        ) RETURNING \(columns)
        """
    }

    package static func giveBack(_ number: Int64) -> SQLStatement {
        "UPDATE held_push SET taken = 0 WHERE number = \(number)"
    }

    package static func remove(_ number: Int64) -> SQLStatement { "DELETE FROM held_push WHERE number = \(number)" }

    package static func removeExpired(at moment: Timestamp, limit: Int) -> SQLStatement {
        """
        DELETE FROM held_push WHERE number IN (
            SELECT number FROM held_push WHERE expires <= \(moment.column) ORDER BY expires LIMIT \(limit)
        ) RETURNING \(columns)
        """
    }
}

extension HeldPush {
    package static let table = Table<HeldPush>(
        "held_push", HeldPush.init(number:place:expires:taken:deviceToken:payload:headers:),
        Column("number", type: .integer, isGenerated: true, \.number),
        Column("bundle_id", "environment", type: .upstreamPlace, \.place),
        Column("expires", type: .moment, \.expires),
        Column("taken", type: .moment, \.taken),
        Column("token", type: .bytes, \.deviceToken),
        Column("payload", type: .bytes, \.payload),
        Column("headers", type: .json(), \.headers))
}

extension HeldStatements {
    /// Reads a row of ``places(at:)``.
    package static func place(_ row: any SQLRow) throws(StoreError) -> UpstreamPlace {
        guard let bundleID = row.text(0).flatMap(BundleID.init(rawValue:)),
            let environment = row.integer(1).flatMap(Environment.init(column:))
        else { throw StoreError(.unreadable, "The table held_push has a row that cannot be read: restore a backup.") }
        return UpstreamPlace(bundleID: bundleID, environment: environment)
    }
}
