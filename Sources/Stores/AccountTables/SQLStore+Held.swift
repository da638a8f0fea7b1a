package import Delivery
package import Notifications
import SQLSupport
package import Storage

// The notifications that are held until an upstream can be reached. Their device tokens and payloads are encrypted by those who
// use the store. Release 0.2.0 kept them in clear in the table held_push, which its nodes still use while a cluster is
// upgraded, so those of this release have a table of their own.
extension SQLStore {
    package func hold(_ push: HeldPush) async throws(StoreError) {
        let table = HeldPush.sealed
        // Changes no row if there are too many. The count is that of the numbers in use, which is found without a scan. It
        // counts those that were sent between two others as well, so it is never too low.
        let counts = try await changePromptly([
            """
            INSERT INTO sealed_push (\(table.list)) SELECT \(try table.values(push))
            WHERE coalesce((SELECT max(number) FROM sealed_push) - (SELECT min(number) FROM sealed_push), -1)
                < \(HeldLimits.maximumCount - 1)
            """
        ])
        guard counts == [1] else { throw .tooManyHeld }
    }

    package func heldPlaces(at moment: Timestamp) async throws(StoreError) -> [UpstreamPlace] {
        try await read(
            """
            SELECT DISTINCT bundle_id, environment FROM sealed_push
            WHERE expires > \(moment.column) AND taken <= \(moment.column)
            """
        ) { row throws(StoreError) in
            guard let bundleID = row.text(0).flatMap(BundleID.init(rawValue:)),
                let environment = row.integer(1).flatMap(Environment.init(column:))
            else {
                throw StoreError(.unreadable, "The table sealed_push has a row that cannot be read: restore a backup.")
            }
            return UpstreamPlace(bundleID: bundleID, environment: environment)
        }
    }

    package func claimHeld(
        of place: UpstreamPlace,
        limit: Int,
        at moment: Timestamp,
        until end: Timestamp,
    ) async throws(StoreError) -> [HeldPush] {
        let skippingLocked = SQLStatement.either(sqlite: "", postgresql: "FOR UPDATE SKIP LOCKED")
        return try await changeHeld(
            """
            UPDATE sealed_push SET taken = \(end.column) WHERE number IN (
                SELECT number FROM sealed_push
                WHERE bundle_id = \(place.bundleID.rawValue) AND environment = \(place.environment.column)
                    AND expires > \(moment.column) AND taken <= \(moment.column)
                ORDER BY number LIMIT \(limit) \(skippingLocked)
            )
            """
        ).sorted { $0.number < $1.number }
    }

    package func giveBackHeld(_ numbers: [Int64]) async throws(StoreError) {
        try await change(numbers.map { "UPDATE sealed_push SET taken = 0 WHERE number = \($0)" })
    }

    package func removeHeld(_ numbers: [Int64]) async throws(StoreError) {
        try await change(numbers.map { "DELETE FROM sealed_push WHERE number = \($0)" })
    }

    package func removeExpiredHeld(at moment: Timestamp, limit: Int) async throws(StoreError) -> [HeldPush] {
        try await changeHeld(
            """
            DELETE FROM sealed_push WHERE number IN (
                SELECT number FROM sealed_push WHERE expires <= \(moment.column) ORDER BY expires LIMIT \(limit)
            )
            """)
    }

    /// - Returns: the rows that the statement has changed.
    private func changeHeld(_ statement: SQLStatement) async throws(StoreError) -> [HeldPush] {
        let table = HeldPush.sealed
        return try await change("\(statement) RETURNING \(table.columns(of: "sealed_push"))", isLasting: false) {
            row throws(StoreError) in try table.row(row)
        }
    }

    // MARK: In clear

    package func claimClearHeld(
        limit: Int,
        at moment: Timestamp,
        until end: Timestamp,
    ) async throws(StoreError) -> [HeldPush] {
        let table = HeldPush.clear
        let skippingLocked = SQLStatement.either(sqlite: "", postgresql: "FOR UPDATE SKIP LOCKED")
        return try await change(
            """
            UPDATE held_push SET taken = \(end.column) WHERE number IN (
                SELECT number FROM held_push WHERE taken <= \(moment.column) ORDER BY number LIMIT \(limit) \(skippingLocked)
            ) RETURNING \(table.columns(of: "held_push"))
            """, isLasting: false
        ) { row throws(StoreError) in try table.row(row) }.sorted { $0.number < $1.number }
    }

    package func replaceClearHeld(_ pushes: [HeldPush]) async throws(StoreError) {
        let table = HeldPush.sealed
        var statements: [SQLStatement] = []
        for push in pushes {
            statements.append("INSERT INTO sealed_push (\(table.list)) SELECT \(try table.values(push))")
            statements.append("DELETE FROM held_push WHERE number = \(push.number)")
        }
        try await change(statements)
    }

    package func copiedClearHeld(after number: Int64, limit: Int) async throws(StoreError) -> [HeldPush] {
        let table = HeldPush.clear
        return try await read(
            """
            SELECT \(table.columns(of: "held_push")) FROM held_push WHERE number > \(number)
            ORDER BY number LIMIT \(limit)
            """
        ) { row throws(StoreError) in try table.row(row) }
    }

    // MARK: Copying

    package func copiedHeld(after number: Int64, limit: Int) async throws(StoreError) -> [HeldPush] {
        let table = HeldPush.sealed
        return try await read(
            """
            SELECT \(table.columns(of: "sealed_push")) FROM sealed_push WHERE number > \(number)
            ORDER BY number LIMIT \(limit)
            """
        ) { row throws(StoreError) in try table.row(row) }
    }
}

extension HeldPush {
    static let sealed = table("sealed_push")
    /// The table of release 0.2.0.
    static let clear = table("held_push")

    private static func table(_ name: String) -> Table<HeldPush> {
        Table<HeldPush>(
            name, HeldPush.init(number:place:expires:taken:deviceToken:payload:headers:),
            Column("number", type: .integer, isGenerated: true, \.number),
            Column("bundle_id", "environment", type: .upstreamPlace, \.place),
            Column("expires", type: .moment, \.expires),
            Column("taken", type: .moment, \.taken),
            Column("token", type: .bytes, \.deviceToken),
            Column("payload", type: .bytes, \.payload),
            Column("headers", type: .json(), \.headers))
    }
}
