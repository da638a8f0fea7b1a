package import Notifications

/// The stored notifications: at most one for each app on each device, the newest (Guide, 2.1.3).
///
/// Items of one batch are independent of each other: each has its own result, in the order of the request. There is
/// no order between different destinations; of one destination's items the last in the batch is stored last, and a
/// batch handed in after another was handed in comes after it.
package protocol Mailboxes: Sendable {
    /// Whether other nodes store in them too.
    var isShared: Bool { get }

    /// Stores each notification in the place of what its mailbox held, and answers once it would survive a crash.
    ///
    /// Each item does at once what it does: it looks whether the registration is active, and replaces what the mailbox held.
    /// So a mailbox holds nothing for an app that is not on its device, whoever ends the registration meanwhile: the item
    /// that comes first is emptied out with the mailbox, the one that comes later fails with
    /// ``StoreError/Code/ended(at:)``.
    ///
    /// Storing the same again is harmless, which is what to do after ``StoreError/Code/unknown``.
    func store(_ entries: [MailboxEntry]) async -> [Result<MailboxVersion, StoreError>]

    /// Empties a mailbox that still holds the named version, which is looked at at once with emptying it: a newer one stays.
    func remove(_ references: [MailboxReference]) async -> [Result<MailboxRemoval, StoreError>]

    /// What the mailboxes of one device hold, oldest version first. What has expired may be among it.
    func entries(of device: DeviceKey) async throws(StoreError) -> [StoredMailboxEntry]

    /// Removes what expired before the given moment, at most `limit` entries.
    /// - Returns: How many were removed; fewer than `limit` when there is no more.
    func removeExpired(before moment: Timestamp, limit: Int) async throws(StoreError) -> Int
}

/// Names one content of a mailbox. Unique to its destination, never used again, and greater than that of anything the
/// mailbox held before.
package struct MailboxVersion: Sendable, Hashable, Comparable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static func < (lhs: MailboxVersion, rhs: MailboxVersion) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// A notification to be stored.
package struct MailboxEntry: Sendable, Hashable {
    package var destination: Destination
    package var notification: Notification
    /// From this moment on it is not delivered any more.
    package var expires: Timestamp

    package init(destination: Destination, notification: Notification, expires: Timestamp) {
        self.destination = destination
        self.notification = notification
        self.expires = expires
    }
}

/// A notification as it is stored.
package struct StoredMailboxEntry: Sendable, Hashable {
    package var entry: MailboxEntry
    package var version: MailboxVersion

    package init(entry: MailboxEntry, version: MailboxVersion) {
        self.entry = entry
        self.version = version
    }
}

/// One version of one mailbox.
package struct MailboxReference: Sendable, Hashable {
    package var destination: Destination
    package var version: MailboxVersion

    package init(destination: Destination, version: MailboxVersion) {
        self.destination = destination
        self.version = version
    }
}

/// What became of a removal.
package enum MailboxRemoval: Sendable, Hashable {
    /// The mailbox held that version and is now empty.
    case removed
    /// The mailbox was empty, or holds another version, which stays.
    case superseded
}
