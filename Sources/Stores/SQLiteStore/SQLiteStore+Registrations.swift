package import Delivery
import GRDB
package import Notifications
import SQLiteSupport
package import Storage

extension SQLiteStore: Registrations {
    package func knownRegistration(of destination: Destination) -> KnownRegistration? {
        registrations.knownRegistration(of: destination)
    }

    package func knownRegistration(ofEach destinations: [Destination]) -> [KnownRegistration?] {
        registrations.knownRegistration(ofEach: destinations)
    }

    package func lookUp(_ destinations: [Destination]) async throws(StoreError) -> [Registration?] {
        destinations.map { registrations[$0] }
    }

    package func registrations(of device: DeviceKey) async throws(StoreError) -> [AppID: Registration] {
        registrations.registrations(of: device)
    }

    /// Reads the database and not the table in memory, because the table has no order.
    package func devices(
        in environment: Environment,
        after device: DeviceID?,
        limit: Int,
    ) async throws(StoreError) -> [ListedDevice] {
        try await read { database throws(SQLiteFailure) in
            var devices: [ListedDevice] = []
            for range in DeviceID.columns(after: device) where devices.count < limit {
                devices += try Self.devices(
                    in: environment, range, limit: limit - devices.count, database)
            }
            return devices
        }
    }

    package func register(
        _ destination: Destination,
        tokenKeyID: UInt32,
        at moment: Timestamp,
    ) async throws(StoreError) -> Registration {
        let (table, writing) = (registrations, writing)
        return try await commits.write(undoable: true) { database, _ throws(SQLiteFailure) -> Registration? in
            guard try !Self.isRevoked(destination.deviceKey, in: database) else { return nil }
            guard var registration = try Self.registration(of: destination, in: database) else {
                let first = Registration(firstSealedWith: tokenKeyID, at: moment)
                try Self.set(first, of: destination, in: database)
                writing.wrote(first, of: destination)
                return first
            }
            if registration.setActive(true, at: moment) {
                try Self.set(registration, of: destination, in: database)
                try Self.removeFeedback(on: destination, generation: registration.generation, in: database)
                writing.wrote(registration, of: destination)
            }
            return registration
        } committed: { registration -> Result<Registration, StoreError> in
            guard let registration else { return .failure(.revoked(destination.device)) }
            table.set(registration, of: destination)
            return .success(registration)
        }.get().get()
    }

    package func end(_ destination: Destination, at moment: Timestamp) async throws(StoreError) -> Registration? {
        let (table, journal, writing, subscribed) = (registrations, journal, writing, subscribedDevices)
        return try await commits.write(undoable: true) {
            database, _ throws(SQLiteFailure) -> (Registration, [EndedNotification], isSubscribed: Bool)? in
            guard var registration = try Self.registration(of: destination, in: database) else { return nil }
            if registration.setActive(false, at: moment) {
                try Self.set(registration, of: destination, in: database)
            }
            let discarded = try Self.empty(destination, in: database)
            let isSubscribed = try Self.unsubscribe(destination, in: database)
            writing.wrote(registration, of: destination)
            return (registration, discarded, isSubscribed)
        } committed: { ended -> Registration? in
            guard let (registration, discarded, isSubscribed) = ended else { return nil }
            if !isSubscribed { subscribed.remove(destination.deviceKey) }
            table.set(registration, of: destination)
            journal.record(discarded)
            return registration
        }.get()
    }

    package func renewTokens(
        of device: DeviceKey,
        tokenKeyID: UInt32,
        at moment: Timestamp,
    ) async throws(StoreError) {
        let (table, journal, writing, subscribed) = (registrations, journal, writing, subscribedDevices)
        let renewed = try await commits.write(undoable: true) { database, _ throws(SQLiteFailure) -> Renewal in
            var registrations = try Self.registrations(of: device, in: database)
            for index in registrations.indices {
                guard registrations[index].registration.renewToken(tokenKeyID: tokenKeyID, at: moment) else {
                    return .refused
                }
            }
            var discarded: [EndedNotification] = []
            for (destination, registration) in registrations {
                try Self.set(registration, of: destination, in: database)
                discarded += try Self.empty(destination, in: database)
                _ = try Self.unsubscribe(destination, in: database)
            }
            for (destination, registration) in registrations { writing.wrote(registration, of: destination) }
            return .renewed(registrations, discarded)
        } committed: { renewal in
            guard case .renewed(let registrations, let discarded) = renewal else { return false }
            table.set(registrations, of: device)
            subscribed.remove(device)
            journal.record(discarded)
            return true
        }.get()
        guard renewed else { throw .outOfTokens(device.device) }
    }

    package func removeOrphaned(limit: Int) async throws(StoreError) -> Int {
        guard limit > 0, try await read(Self.hasDeletedApps) else { return 0 }
        let (table, journal, writing) = (registrations, journal, writing)
        let orphans = orphanSearch.next(in: table, accounts, limit: limit)
        let removal = await commits.write(items: max(1, orphans.count), undoable: true) {
            database, accepted throws(SQLiteFailure) -> ([Destination], [EndedNotification]) in
            // Record the discarded notifications. They belong to a deleted app and can never be delivered, because a
            // later app has another number.
            var discarded: [EndedNotification] = []
            let removed = Array(orphans.prefix(accepted))
            for destination in removed {
                discarded += try Self.empty(destination, in: database)
                try Self.removeRegistration(destination, in: database)
            }
            for destination in removed { writing.wrote(nil, of: destination) }
            return (removed, discarded)
        } committed: { removed, discarded -> Int in
            for destination in removed { table.remove(destination) }
            journal.record(discarded)
            return removed.count
        }
        do throws(StoreError) {
            let removed = try removal.get()
            guard removed == orphans.count else { throw .busy }
            return removed
        } catch {
            // The removal failed, so search again from the beginning to find these registrations again.
            orphanSearch.restart()
            throw error
        }
    }

    private typealias RegistrationRow = (destination: Destination, registration: Registration)

    private enum Renewal: Sendable {
        case renewed([RegistrationRow], [EndedNotification])
        /// One of the device's apps has used its last generation of device tokens. Nothing was changed.
        case refused
    }
}

// MARK: - Rows

extension SQLiteStore {
    private static func isRevoked(_ device: DeviceKey, in database: Database) throws(SQLiteFailure) -> Bool {
        try database.firstRow(
            "SELECT 1 FROM revoked_device WHERE environment = ? AND device = ?", device.arguments
        ) { _ in true } ?? false
    }

    /// Whether any app was ever deleted. App numbers are consecutive, so the number of apps shows it. This is one
    /// statement, so that it sees both tables in the same state.
    private static func hasDeletedApps(in database: Database) throws(SQLiteFailure) -> Bool {
        let count = try database.firstRow(
            """
            SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'app'), 0) - (SELECT count(*) FROM app)
            """
        ) { $0.integer(0) }
        return count ?? 0 > 0
    }

    /// Removes a registration and its entries in feedback lists.
    private static func removeRegistration(
        _ destination: Destination,
        in database: Database,
    ) throws(SQLiteFailure) {
        for table in ["feedback", "registration"] {
            try database.run(
                "DELETE FROM \(table) WHERE environment = ? AND device = ? AND app = ?", destination.arguments)
        }
    }

    static func loadRegistrations(from database: Database) throws(SQLiteFailure) -> RegistrationTable {
        let count = try database.firstRow("SELECT count(*) FROM registration") { $0.integer(0) }
        let table = RegistrationTable(capacity: Int(count ?? 0))  // fits: a count of rows
        try database.forEachRow("SELECT \(columns) FROM registration") { row throws(SQLiteFailure) in
            let (destination, registration) = try row.registration()
            table.set(registration, of: destination)
        }
        return table
    }

    private static let columns =
        "environment, device, app, generation, token_key, token_since, active, changed"

    static func registration(
        of destination: Destination,
        in database: Database,
    ) throws(SQLiteFailure) -> Registration? {
        try database.firstRow(
            "SELECT \(columns) FROM registration WHERE environment = ? AND device = ? AND app = ?",
            destination.arguments,
        ) { row throws(SQLiteFailure) in
            try row.registration().registration
        }
    }

    private static func registrations(
        of device: DeviceKey,
        in database: Database,
    ) throws(SQLiteFailure) -> [RegistrationRow] {
        try database.rows(
            "SELECT \(columns) FROM registration WHERE environment = ? AND device = ?",
            device.arguments,
        ) { row throws(SQLiteFailure) in
            try row.registration()
        }
    }

    /// Returns the devices in the order of their column. Both queries use the primary key, so they read only the rows
    /// of the page.
    private static func devices(
        in environment: Environment,
        _ range: ClosedRange<Int64>,
        limit: Int,
        _ database: Database,
    ) throws(SQLiteFailure) -> [ListedDevice] {
        var devices: [ListedDevice] = []
        try database.forEachRow(
            """
            SELECT \(columns), (
                SELECT version FROM mailbox WHERE (mailbox.environment, mailbox.device, mailbox.app)
                    = (registration.environment, registration.device, registration.app)), (
                SELECT count(*) FROM kept WHERE kept.environment = registration.environment
                    AND kept.device = registration.device AND kept.app = registration.app AND kept.queue = 0)
            FROM registration
            WHERE environment = ? AND device BETWEEN ? AND (
                SELECT max(device) FROM (
                    SELECT DISTINCT device FROM registration
                    WHERE environment = ? AND device BETWEEN ? AND ? ORDER BY device LIMIT ?))
            ORDER BY device, app
            """,
            [
                environment.column, range.lowerBound, environment.column, range.lowerBound, range.upperBound, limit,
            ],
        ) { row throws(SQLiteFailure) in
            let (destination, registration) = try row.registration()
            let version = row.hasNull(atIndex: 8) ? nil : MailboxVersion(rawValue: UInt64(clamping: row.integer(8)))
            devices.append(
                ListedApp(
                    app: destination.app, registration: registration, stored: version,
                    kept: Int(clamping: row.integer(9))),
                of: destination.deviceKey)
        }
        return devices
    }

    static func set(
        _ registration: Registration,
        of destination: Destination,
        in database: Database,
    ) throws(SQLiteFailure) {
        try database.run(
            "REPLACE INTO registration (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                destination.environment.column,
                destination.device.column,
                destination.app.rawValue,
                registration.generation,
                registration.tokenKeyID,
                registration.tokenSince.column,
                registration.isActive,
                registration.changed.column,
            ],
        )
    }
}

extension Row {
    func registration() throws(SQLiteFailure) -> (destination: Destination, registration: Registration) {
        guard let environment = Environment(column: integer(0)), let app = UInt32(exactly: integer(2)),
            let generation = UInt32(exactly: integer(3)), let tokenKeyID = UInt32(exactly: integer(4))
        else { throw .damaged("a registration that is not valid") }
        return (
            Destination(environment: environment, device: DeviceID(column: integer(1)), app: AppID(rawValue: app)),
            Registration(
                generation: generation,
                tokenKeyID: tokenKeyID,
                tokenSince: Timestamp(column: integer(5)),
                isActive: integer(6) != 0,
                changed: Timestamp(column: integer(7)),
            )
        )
    }
}
