import Delivery
import Foundation
import GRDB
import Notifications
import SQLiteSupport

// Converts the values of this store to SQLite's columns and back.

extension DeviceID {
    /// The 64 bits of the ID. SQLite's integers have a sign, so IDs in the upper half become negative numbers.
    var column: Int64 { Int64(bitPattern: rawValue) }

    init(column: Int64) { self.init(rawValue: UInt64(bitPattern: column)) }

    /// The ranges of the column that hold the devices after this one, in the order of the IDs.
    /// - Parameter device: nil for all devices.
    static func columns(after device: DeviceID?) -> [ClosedRange<Int64>] {
        let (lower, upper) = (Int64(0)...Int64.max, Int64.min...Int64(-1))
        guard let device else { return [lower, upper] }
        let range = device.column >= 0 ? lower : upper
        let rest = device.column < range.upperBound ? [(device.column + 1)...range.upperBound] : []
        return device.column >= 0 ? rest + [upper] : rest
    }
}

extension NotificationID {
    /// The 16 bytes, in the order in which a UUID is written.
    var column: Data { withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Data($0) } }

    init?(column: Data) {
        guard column.count == 16 else { return nil }
        let (high, low) = column.withUnsafeBytes { bytes in
            (bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
        self.init(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
    }
}

extension DeviceKey {
    /// The values of the columns `environment` and `device`.
    var arguments: StatementArguments { [environment.column, device.column] }
}

extension Destination {
    /// The values of the columns `environment`, `device` and `app`.
    var arguments: StatementArguments { [environment.column, device.column, app.rawValue] }
}
