import Delivery
import Notifications
import PostgresClient
import PostgresSupport
import Storage

// How the service's values are represented in PostgreSQL's columns.

extension AppID {
    var column: Int64 { Int64(rawValue) }  // fits: 32 bits

    init?(column: Int64) {
        guard let number = UInt32(exactly: column) else { return nil }
        self.init(rawValue: number)
    }
}

extension NotificationID {
    /// 16 bytes in the order in which a UUID is written.
    var column: [UInt8] { withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Array($0) } }

    init?(column: [UInt8]) {
        guard column.count == 16 else { return nil }
        let words = column.withUnsafeBytes { bytes in
            (bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
        self.init(high: UInt64(bigEndian: words.0), low: UInt64(bigEndian: words.1))
    }
}

extension DeviceKey {
    /// The parameters `device` and `environment`.
    var values: [PostgresValue] { [.integer(device.column), .integer(environment.column)] }
}

extension Destination {
    /// The parameters `device`, `environment` and `app`.
    var values: [PostgresValue] { deviceKey.values + [.integer(app.column)] }

    /// The parameters `device`, `environment`, `app` and `queue`.
    var placeValues: [PostgresValue] { values + [.integer(Int64(queue))] }  // fits: 32 bits

    /// Defines the order in which all transactions lock rows, so that two transactions never wait for each other.
    static func isOrderedInTable(_ left: Destination, _ right: Destination) -> Bool {
        (left.device.column, left.environment.column, left.app.rawValue)
            < (right.device.column, right.environment.column, right.app.rawValue)
    }
}

extension Array where Element == Destination {
    var columns: [BoundColumn] {
        [
            BoundColumn("device", .integers(map { $0.device.column })),
            BoundColumn("environment", .integers(map { $0.environment.column })),
            BoundColumn("app", .integers(map { $0.app.column })),
        ]
    }

    var queueColumn: BoundColumn { BoundColumn("queue", .integers(map { Int64($0.queue) })) }  // fits: 32 bits

    /// The parameters `devices`, `environments` and `apps`.
    var values: [PostgresValue] { columns.values }
}

extension PostgresRows {
    /// What a statement found of each item of its array, in the order of the items: the first column has their places (WITH
    /// ORDINALITY). Nil for an item without a row.
    /// - Parameter what: names the rows if one of them cannot be read.
    func found<Item, Value>(
        of items: [Item],
        _ what: String,
        _ read: (PostgresRow, Item) -> Value?,
    ) throws(StoreError) -> [Value?] {
        var found = [Value?](repeating: nil, count: items.count)
        for row in map(\.self) {
            guard let place = row.place(in: items), let value = read(row, items[place]) else {
                throw PostgresError.damaged(what).storeError
            }
            found[place] = value
        }
        return found
    }
}

extension PostgresRow {
    /// The item of a statement's array that the row belongs to; nil if there is none.
    func item<Item>(of items: [Item]) -> Item? { place(in: items).map { items[$0] } }

    /// The first column has the place in the statement's array, from 1 on (WITH ORDINALITY).
    fileprivate func place(in items: [some Any]) -> Int? {
        guard let place = integer(0), place > 0, place <= items.count else { return nil }
        return Int(clamping: place) - 1  // fits: at least 1
    }

    /// Reads a destination from the columns device, environment and app, which begin at this column.
    func destination(_ column: Int) -> Destination? {
        guard let device = integer(column), let environment = integer(column + 1).flatMap(Environment.init(column:)),
            let app = integer(column + 2).flatMap(AppID.init(column:))
        else { return nil }
        return Destination(environment: environment, device: DeviceID(column: device), app: app)
    }

    /// Reads the destination of an announcement that a registration has ended.
    func endedDestination(_ column: Int) -> Destination? {
        guard let device = integer(column), let environment = integer(column + 1).flatMap(Environment.init(column:)),
            let number = integer(column + 2), (-2 - Int64(UInt32.max)...(-2)).contains(number),
            let app = AppID(column: -2 - number)  // fits: the range was checked
        else { return nil }
        return Destination(environment: environment, device: DeviceID(column: device), app: app)
    }

    /// Reads a registration from the columns generation, token_key, token_since, active and changed, which begin at
    /// this column.
    func registration(_ column: Int) -> Registration? {
        guard let generation = integer(column).flatMap(UInt32.init(exactly:)),
            let tokenKeyID = integer(column + 1).flatMap(UInt32.init(exactly:)), let since = integer(column + 2),
            let isActive = bool(column + 3), let changed = integer(column + 4)
        else { return nil }
        return Registration(
            generation: generation, tokenKeyID: tokenKeyID, tokenSince: Timestamp(column: since), isActive: isActive,
            changed: Timestamp(column: changed))
    }
}
