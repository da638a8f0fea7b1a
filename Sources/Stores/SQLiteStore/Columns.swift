import Delivery
import GRDB
import Notifications
import SQLiteSupport

import struct Foundation.Data

// Converts the values of this store to SQLite's columns and back.

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

extension Notification {
    /// The values of the columns `id`, `priority`, `expiration`, `contents`, `push_type`, `topic`, `collapse_id` and `payload`.
    var arguments: StatementArguments {
        [
            id.column, priority.rawValue, expiration.seconds.map { Int64(bitPattern: $0) },
            Int64(payload.contents.rawValue), StoredPushType(self).text, Data(topic.utf8),  // fits: a byte
            (collapseID?.rawValue.utf8).map { Data($0) }, Data(payload.json),
        ]
    }
}
