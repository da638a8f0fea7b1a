package import Delivery
import Notifications
import PostgresClient
import PostgresSupport
package import Storage

extension PostgresStore: Feedback {
    package func record(_ entries: [FeedbackEntry]) async throws(StoreError) {
        var byList: [FeedbackList: [FeedbackEntry]] = [:]
        for entry in entries {
            let list = FeedbackList(environment: entry.destination.environment, app: entry.destination.app)
            byList[list, default: []].append(entry)
        }
        for (list, entries) in byList {
            var rest = entries[...]
            while !rest.isEmpty {
                let batch = rest.prefix(Self.maximumBatch)
                rest = rest.dropFirst(Self.maximumBatch)
                _ = try await Self.execute(insertion(of: Array(batch), on: list), on: writers[0])
            }
        }
    }

    /// The statements of a transaction that adds entries. It locks the list, so that entries become visible in the
    /// order of their numbers. It also locks the registrations: an app that registers again has to wait until the
    /// entry is there, and then removes it.
    private func insertion(of entries: [FeedbackEntry], on list: FeedbackList) -> [PostgresStatement] {
        let sorted = entries.sorted { Destination.isOrderedInTable($0.destination, $1.destination) }
        let key: [PostgresValue] = [.integer(list.environment.column), .integer(list.app.column)]
        let columns =
            sorted.map(\.destination).columns + [
                BoundColumn("generation", .integers(sorted.map { Int64($0.generation) })),  // fits: 32 bits
                BoundColumn("moment", .integers(sorted.map(\.moment.column))),
                BoundColumn("token", .byteArrays(sorted.map(\.token.array))),
            ]
        return [
            PostgresStatement(
                """
                SELECT 1 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS item (device, environment, app)
                JOIN carillon.destination AS d
                    ON d.device = item.device AND d.environment = item.environment AND d.app = item.app
                ORDER BY d.device, d.environment, d.app FOR SHARE OF d
                """, sorted.map(\.destination).values),
            PostgresStatement(
                """
                INSERT INTO carillon.feedback_list AS list VALUES ($1, $2, $3)
                ON CONFLICT (environment, app) DO UPDATE SET last = list.last + excluded.last
                """, key + [.integer(Int64(sorted.count))]),
            PostgresStatement(
                assembled: """
                    INSERT INTO carillon.feedback (\(columns.names), number)
                    SELECT \(columns.names(of: "item")), list.last - $3 + item.place
                    FROM unnest(\(columns.parameters(from: 5))) WITH ORDINALITY AS item (\(columns.names), place)
                    JOIN carillon.destination AS d
                        ON d.device = item.device AND d.environment = item.environment AND d.app = item.app
                    JOIN carillon.feedback_list AS list ON list.environment = $1 AND list.app = $2
                    WHERE (d.generation = item.generation & $4 AND NOT d.active AND d.changed = item.moment)
                        OR (d.generation > item.generation & $4 AND d.token_since = item.moment)
                    ORDER BY item.place
                    ON CONFLICT DO NOTHING
                    """,
                key + [.integer(Int64(sorted.count)), .integer(Int64(TokenNumber.lastGeneration))] + columns.values),
            PostgresStatement(
                """
                DELETE FROM carillon.feedback AS f USING carillon.feedback_list AS list
                WHERE list.environment = $1 AND list.app = $2 AND f.environment = $1 AND f.app = $2
                    AND f.number <= list.last - $3
                """, key + [.integer(maximumFeedbackEntries)]),
        ]
    }

    package func entries(
        of list: FeedbackList,
        after mark: FeedbackMark?,
        limit: Int,
    ) async throws(StoreError) -> [ListedFeedback] {
        let rows = try await read(
            """
            SELECT number, token, moment FROM carillon.feedback
            WHERE environment = $1 AND app = $2 AND number > $3 ORDER BY number LIMIT $4
            """,
            [
                .integer(list.environment.column), .integer(list.app.column),
                .integer(Int64(clamping: mark?.rawValue ?? 0)), .integer(Int64(clamping: limit)),
            ])
        return try rows.map { row throws(StoreError) in
            guard let number = row.integer(0).flatMap(UInt64.init(exactly:)),
                let token = row.bytes(1).flatMap({ DeviceToken($0) }), let moment = row.moment(2)
            else { throw PostgresError.damaged("an entry of the feedback").storeError }
            return ListedFeedback(mark: FeedbackMark(rawValue: number), token: token, moment: moment)
        }
    }

    package func confirm(_ list: FeedbackList, through mark: FeedbackMark) async throws(StoreError) {
        _ = try await Self.execute(
            [
                PostgresStatement(
                    "DELETE FROM carillon.feedback WHERE environment = $1 AND app = $2 AND number <= $3",
                    [
                        .integer(list.environment.column), .integer(list.app.column),
                        .integer(Int64(clamping: mark.rawValue)),
                    ])
            ], on: writers[0])
    }
}
