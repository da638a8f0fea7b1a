package import Delivery
package import Notifications
import SQLSupport
package import Storage

// The endpoints of handles. A row goes with that of its handle.
extension SQLGrantStore: HandleEndpoints {
    /// Stores an endpoint of a handle that was stored in the same transaction. In PostgreSQL the handle's row is locked by that,
    /// so that requests at the same time cannot exceed the limit together.
    static func put(_ endpoint: HandleEndpoint, _ transaction: any SQLTransaction) throws -> HandleEndpoint {
        let table = HandleEndpoint.table
        let isOfName: SQLStatement = "handle = \(endpoint.handle.bytes) AND name = \(.value(.anyText(endpoint.name)))"
        let present = try transaction.rows(
            "UPDATE handle_endpoint SET vapid = \(endpoint.vapid) WHERE \(isOfName) RETURNING \(table.list)"
        ) { try table.row($0) }
        if let present = present.first { return present }
        let count = try transaction.number(
            "SELECT count(*) FROM handle_endpoint WHERE handle = \(endpoint.handle.bytes)")
        guard count ?? 0 < Int64(clamping: HandleEndpoint.maximumCount) else { throw StoreError.tooManyEndpoints }
        try transaction.run("INSERT INTO handle_endpoint (\(table.list)) VALUES (\(table.values(endpoint)))")
        return endpoint
    }

    static func removeEndpoints(of handle: Handle, _ transaction: any SQLTransaction) throws {
        try transaction.run("DELETE FROM handle_endpoint WHERE handle = \(handle.bytes)")
    }

    package func endpoint(with digest: [UInt8]) async throws(StoreError) -> FoundEndpoint? {
        let (table, handles) = (HandleEndpoint.table, StoredHandle.table)
        return try await database.read(
            """
            SELECT \(table.columns(of: "e")), \(handles.columns(of: "h"))
            FROM handle_endpoint e JOIN handle h ON h.handle = e.handle WHERE e.digest = \(digest)
            """
        ) { (endpoint: try table.row($0), handle: try handles.row($0, from: table.count)) }.first
    }

    package func removeEndpoint(
        named name: String,
        of handle: Handle,
        of grant: GrantID,
    ) async throws(StoreError) -> Bool {
        try await database.write(
            """
            DELETE FROM handle_endpoint WHERE handle = \(handle.bytes) AND name = \(.value(.anyText(name)))
                AND EXISTS (SELECT 1 FROM handle WHERE handle = \(handle.bytes) AND grant_id = \(grant.rawValue))
            """) > 0
    }

    package func removeEndpoint(with digest: [UInt8]) async throws(StoreError) {
        _ = try await database.write("DELETE FROM handle_endpoint WHERE digest = \(digest)")
    }

    package func endpoints(after digest: [UInt8]?, limit: Int) async throws(StoreError) -> [HandleEndpoint] {
        let table = HandleEndpoint.table
        return try await database.read(
            """
            SELECT \(table.columns(of: "handle_endpoint")) FROM handle_endpoint
            WHERE digest > \(digest ?? []) ORDER BY digest LIMIT \(limit)
            """
        ) { try table.row($0) }
    }

    package func fill(_ endpoints: [HandleEndpoint]) async throws(StoreError) {
        let table = HandleEndpoint.table
        var statements: [SQLStatement] = []
        for endpoint in endpoints {
            let values = try table.values(endpoint)
            statements.append("INSERT INTO handle_endpoint (\(table.list)) VALUES (\(values))")
        }
        try await database.write(statements)
    }
}
