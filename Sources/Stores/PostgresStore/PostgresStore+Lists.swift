package import Delivery
package import Notifications
import PostgresClient
import PostgresSupport
package import Storage

extension PostgresStore {
    package func devices(
        in environment: Environment,
        after device: DeviceID?,
        limit: Int,
    ) async throws(StoreError) -> [ListedDevice] {
        var devices: [ListedDevice] = []
        for range in DeviceID.columns(after: device) where devices.count < limit {
            devices += try await self.devices(in: environment, range, limit: limit - devices.count)
        }
        return devices
    }

    /// Reads devices in the order of the primary key. One query finds the last device of the page, and the other
    /// reads the page: both follow this order.
    private func devices(
        in environment: Environment,
        _ range: ClosedRange<Int64>,
        limit: Int,
    ) async throws(StoreError) -> [ListedDevice] {
        let rows = try await read(
            """
            SELECT device, environment, app, generation, token_key, token_since, active, changed,
                CASE WHEN expires IS NOT NULL THEN version END, (
                    SELECT count(*) FROM carillon.kept AS k
                    WHERE k.device = destination.device AND k.environment = destination.environment
                        AND k.app = destination.app AND k.queue = 0)
            FROM carillon.destination
            WHERE environment = $1 AND device BETWEEN $2 AND (
                SELECT max(device) FROM (
                    SELECT DISTINCT device FROM carillon.destination
                    WHERE environment = $1 AND device BETWEEN $2 AND $3 ORDER BY device LIMIT $4) AS page)
            ORDER BY device, app
            """,
            [
                .integer(environment.column), .integer(range.lowerBound), .integer(range.upperBound),
                .integer(Int64(clamping: limit)),
            ])
        var devices: [ListedDevice] = []
        for index in 0..<rows.count {
            let row = rows[index]
            guard let destination = row.destination(0), let registration = row.registration(3) else {
                throw PostgresError.damaged("a registration").storeError
            }
            let version = row.integer(8).map { MailboxVersion(rawValue: UInt64(clamping: $0)) }
            devices.append(
                ListedApp(
                    app: destination.app, registration: registration, stored: version,
                    kept: Int(clamping: row.integer(9) ?? 0)),
                of: destination.deviceKey)
        }
        return devices
    }
}
