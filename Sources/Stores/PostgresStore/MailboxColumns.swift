import Delivery
import Notifications
import PostgresClient
import PostgresSupport

/// The columns of a mailbox in `carillon.destination`, apart from its version. All are NULL while it is empty.
enum MailboxColumns {
    /// The columns of several mailboxes, in the order in which ``PostgresRow/mailboxEntry(of:from:)`` reads them.
    /// - Parameter entries: nil for an empty mailbox.
    static func columns(of entries: [MailboxEntry?]) -> [BoundColumn] {
        let notifications = entries.map { $0?.notification }
        return [
            BoundColumn("expires", .integers(entries.map { $0?.expires.column })),
            BoundColumn("id", .byteArrays(notifications.map { $0?.id.column })),
            // fits: a byte
            BoundColumn("priority", .integers(notifications.map { $0.map { Int64($0.priority.rawValue) } })),
            // The expiration has to reach the device unchanged, so store the same 64 bits as a signed number.
            BoundColumn(
                "expiration", .integers(notifications.map { $0?.expiration.seconds.map { Int64(bitPattern: $0) } })),
            // fits: a byte
            BoundColumn("contents", .integers(notifications.map { $0.map { Int64($0.payload.contents.rawValue) } })),
            BoundColumn("push_type", .texts(notifications.map { $0.flatMap { StoredPushType($0).text } })),
            BoundColumn("topic", .byteArrays(notifications.map { $0.map { Array($0.topic.utf8) } })),
            BoundColumn(
                "collapse_id", .byteArrays(notifications.map { $0?.collapseID.map { Array($0.rawValue.utf8) } })),
            BoundColumn("payload", .byteArrays(notifications.map { $0.map { Array($0.payload.json) } })),
        ]
    }

    private static let all = columns(of: [])

    /// What ``PostgresRow/mailboxEntry(of:from:)`` reads, for SELECT.
    static func reading(from table: String) -> String { "\(table).app, \(table).version, \(all.names(of: table))" }

    /// As many NULLs as ``reading(from:)`` has columns.
    static let nulls = Array(repeating: "NULL", count: 2 + all.count).joined(separator: ", ")

    /// Empties the mailbox, for UPDATE.
    static let emptying = all.map { "\($0.name) = NULL" }.joined(separator: ", ")

    /// Fills the mailbox with the columns of another table, for UPDATE.
    static func filling(from table: String) -> String { all.assignments(from: table) }
}

extension PostgresRow {
    /// A row with the columns of ``MailboxColumns/reading(from:)``, from this one on; nil if not even its destination can
    /// be read.
    /// - Parameter queue: the number of the subscription.
    func mailboxEntry(of device: DeviceKey, from first: Int = 0, queue: UInt32 = 0) -> StoredMailboxEntry? {
        guard let app = integer(first).flatMap(AppID.init(column:)),
            let version = integer(first + 1).flatMap(UInt64.init(exactly:)).map(MailboxVersion.init(rawValue:)),
            let expires = moment(first + 2)
        else { return nil }
        let destination = Destination(environment: device.environment, device: device.device, app: app, queue: queue)
        guard let notification = self.notification(from: first) else {
            return .damaged(
                destination, version, id: bytes(first + 3).flatMap(NotificationID.init(column:)),
                topic: text(first + 8) ?? "",
                expires: expires)
        }
        return StoredMailboxEntry(
            entry: MailboxEntry(destination: destination, notification: notification, expires: expires),
            version: version)
    }

    /// The notification in the columns of a mailbox, of which the first is the app; nil if this store did not write them.
    func notification(from first: Int) -> Notification? {
        Notification(
            stored: bytes(first + 3).flatMap(NotificationID.init(column:)), priority: integer(first + 4),
            expiration: integer(first + 5), contents: integer(first + 6), pushType: text(first + 7),
            topic: text(first + 8), collapseID: text(first + 9), payload: bytes(first + 10))
    }
}
