import AccountTables
package import Delivery
import PostgresClient
import PostgresSupport
import SQLSupport
package import Storage
package import Notifications

extension PostgresStore: HeldPushes {
    private func held(_ statement: SQLStatement) async throws(StoreError) -> [HeldPush] {
        let answers = try await Self.execute([PostgresStatement(from: statement)], on: writers[0])
        guard let rows = answers.first else { return [] }
        return try rows.map { row throws(StoreError) in try HeldPush.table.row(row) }
    }

    package func hold(_ push: HeldPush) async throws(StoreError) {
        let statement = PostgresStatement(from: try HeldStatements.add(push))
        guard try await Self.execute([statement], on: writers[0]).first?.affected == 1 else { throw .tooManyHeld }
    }

    package func heldPlaces(at moment: Timestamp) async throws(StoreError) -> [UpstreamPlace] {
        let rows = try await read(PostgresStatement(from: HeldStatements.places(at: moment)))
        return try rows.map { row throws(StoreError) in try HeldStatements.place(row) }
    }

    package func takeHeld(
        of place: UpstreamPlace,
        limit: Int,
        at moment: Timestamp,
        until end: Timestamp,
    ) async throws(StoreError) -> [HeldPush] {
        try await held(HeldStatements.take(place, limit: limit, at: moment, until: end))
            .sorted { $0.number < $1.number }
    }

    package func giveBackHeld(_ numbers: [Int64]) async throws(StoreError) {
        guard !numbers.isEmpty else { return }
        _ = try await Self.execute(
            numbers.map { PostgresStatement(from: HeldStatements.giveBack($0)) }, on: writers[0])
    }

    package func removeHeld(_ numbers: [Int64]) async throws(StoreError) {
        guard !numbers.isEmpty else { return }
        _ = try await Self.execute(numbers.map { PostgresStatement(from: HeldStatements.remove($0)) }, on: writers[0])
    }

    package func removeExpiredHeld(at moment: Timestamp, limit: Int) async throws(StoreError) -> [HeldPush] {
        try await held(HeldStatements.removeExpired(at: moment, limit: limit))
    }

    package func copiedHeld(after number: Int64, limit: Int) async throws(StoreError) -> [HeldPush] {
        try await held(HeldStatements.page(after: number, limit: limit))
    }
}
