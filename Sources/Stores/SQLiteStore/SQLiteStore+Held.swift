import AccountTables
package import Delivery
import SQLSupport
import SQLiteSupport
package import Storage
package import Notifications

extension SQLiteStore: HeldPushes {
    private func changeHeld<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLTransaction) throws -> Value
    ) async throws(StoreError) -> Value {
        try await commits.write(isLasting: false, undoable: true) { database, _ throws(SQLiteFailure) in
            try database.sql(body)
        } committed: {
            $0
        }.get()
    }

    package func hold(_ push: HeldPush) async throws(StoreError) {
        let statement = try HeldStatements.add(push)
        guard try await changeHeld({ try $0.run(statement) == 1 }) else { throw .tooManyHeld }
    }

    package func heldPlaces(at moment: Timestamp) async throws(StoreError) -> [UpstreamPlace] {
        try await read { database throws(SQLiteFailure) in
            try database.sql {
                try $0.rows(HeldStatements.places(at: moment)) { try HeldStatements.place($0) }
            }
        }
    }

    package func takeHeld(
        of place: UpstreamPlace,
        limit: Int,
        at moment: Timestamp,
        until end: Timestamp,
    ) async throws(StoreError) -> [HeldPush] {
        let statement = HeldStatements.take(place, limit: limit, at: moment, until: end)
        return try await changeHeld { try $0.rows(statement) { try HeldPush.table.row($0) } }
            .sorted { $0.number < $1.number }
    }

    package func giveBackHeld(_ numbers: [Int64]) async throws(StoreError) {
        try await changeHeld { for number in numbers { try $0.run(HeldStatements.giveBack(number)) } }
    }

    package func removeHeld(_ numbers: [Int64]) async throws(StoreError) {
        try await changeHeld { for number in numbers { try $0.run(HeldStatements.remove(number)) } }
    }

    package func removeExpiredHeld(at moment: Timestamp, limit: Int) async throws(StoreError) -> [HeldPush] {
        let statement = HeldStatements.removeExpired(at: moment, limit: limit)
        return try await changeHeld { try $0.rows(statement) { try HeldPush.table.row($0) } }
    }

    package func copiedHeld(after number: Int64, limit: Int) async throws(StoreError) -> [HeldPush] {
        try await read { database throws(SQLiteFailure) in
            try database.sql {
                try $0.rows(HeldStatements.page(after: number, limit: limit)) { try HeldPush.table.row($0) }
            }
        }
    }
}
