package import Notifications
package import Storage

/// The stored notifications: for each app on each device the newest (Guide, 2.1.3), or as many as the app keeps
/// (``App/keep``, docs/decisions/0095-mailboxes-that-keep-more.md).
///
/// A mailbox that keeps more than one has its contents in the order in which they were stored, within a
/// ``MailboxBound``. A new notification removes the one with the same collapse identifier. If the bound is exceeded, the
/// oldest are dropped. The versions of its contents say so (``MailboxVersion/isKept``).
///
/// The items of a batch are independent. Each has its own result, in the order of the request. Items for different
/// destinations may be stored in any order. Of several items for one destination, the last one is stored last. A
/// batch is stored after all batches that were passed before it.
package protocol Mailboxes: Sendable {
    /// Whether other nodes store in these mailboxes too.
    var isShared: Bool { get }

    /// Whether this process was stopped for a while, and other nodes may have taken over since. Requests that reached it
    /// before may have been sent again to another node. False if the mailboxes are not shared.
    var wasStopped: Bool { get }

    /// Stores each notification in place of the mailbox's contents, or behind them if the app keeps more than one.
    /// Returns when it would survive a crash.
    ///
    /// For each item, one step checks that the registration is active and replaces the contents. So a mailbox never
    /// holds anything for an app that is not on its device. If the registration ends at the same time, an item stored
    /// before is removed with the mailbox, and a later one fails with ``StoreError/Code/ended(at:)``.
    ///
    /// Storing the same notification again does no harm. After ``StoreError/Code/unknown``, store it again, with its
    /// ``MailboxEntry/age``. A mailbox that keeps more has it once, at its first place. An entry with an age, or one that
    /// reaches a shared store late, fails with ``StoreError/Code/conflict`` if it would replace another notification that
    /// may be newer (``MailboxEntry/waited``), or would have it dropped. An item fails with ``StoreError/Code/locked`` if another transaction holds the
    /// mailbox for long. Neither was stored then.
    func store(_ entries: [MailboxEntry]) async -> [Result<MailboxVersion, StoreError>]

    /// Empties a mailbox if it still holds this version. Checking and emptying are one step, so a newer version
    /// stays.
    func remove(_ references: [MailboxReference]) async -> [Result<MailboxRemoval, StoreError>]

    /// Removes a notification from the mailbox of a Web Push subscription.
    /// - Returns: Its version; nil if it is not there.
    func withdraw(
        _ id: NotificationID,
        from destination: Destination,
    ) async throws(StoreError) -> MailboxVersion?

    /// Returns the contents of a device's mailboxes, the oldest version first. Expired notifications may be among
    /// them.
    func entries(of device: DeviceKey) async throws(StoreError) -> [StoredMailboxEntry]

    /// Returns the contents of a device's mailboxes, the oldest first, but of those that keep more only a page.
    /// - Parameter version: the page begins after it; nil for the first page.
    func page(of device: DeviceKey, after version: MailboxVersion?) async throws(StoreError) -> MailboxPage

    /// Returns the contents of mailboxes, in the order of the request; nothing for an empty one. What is being stored
    /// meanwhile may be missing, unlike in ``entries(of:)``. Of a mailbox that keeps more, these are the newest, a page at
    /// most, together with those of the app's subscriptions.
    func contents(of destinations: [Destination]) async -> [Result<[StoredMailboxEntry], StoreError>]

    /// Makes at most `limit` mailboxes fit into bounds that have become less, and drops what they hold beyond them.
    /// - Returns: The number of mailboxes that were changed; less than `limit` if there are no more.
    func fitMailboxes(limit: Int) async throws(StoreError) -> Int

    /// Removes at most `limit` notifications that expired before this time.
    /// - Returns: The number of removed notifications; less than `limit` if there are no more.
    func removeExpired(before moment: Timestamp, limit: Int) async throws(StoreError) -> Int

    /// Does the same for the mailboxes of one app. Only a service with a virtual clock needs this: the clock of a team may
    /// be ahead.
    func removeExpired(before moment: Timestamp, of app: AppID, limit: Int) async throws(StoreError) -> Int
}

extension Mailboxes {
    package var wasStopped: Bool { false }

    /// Begins to empty mailboxes of delivered notifications, and does not wait for it.
    func removeSoon(_ references: [MailboxReference]) {
        Task {
            // A failed removal only means that a delivered notification is delivered again, which "at least once"
            // allows.
            _ = await remove(references)
        }
    }

    /// Reads one device after the other, for stores where that takes no round trip.
    package func contents(of destinations: [Destination]) async -> [Result<[StoredMailboxEntry], StoreError>] {
        var results: [Result<[StoredMailboxEntry], StoreError>] = []
        for destination in destinations {
            do throws(StoreError) {
                let entries = try await entries(of: destination.deviceKey)
                results.append(.success(entries.filter { $0.entry.destination.ofApp == destination }))
            } catch {
                results.append(.failure(error))
            }
        }
        return results
    }
}

extension Mailboxes {
    /// What ``entries(of:)`` returns, for stores that read pages.
    package func entriesOfAllPages(of device: DeviceKey) async throws(StoreError) -> [StoredMailboxEntry] {
        var page = try await page(of: device, after: nil)
        var entries = page.entries
        while let last = page.last {
            page = try await self.page(of: device, after: last)
            entries += page.entries.filter(\.version.isKept)
        }
        return entries
    }

    /// Everything in one page, for stores in which no mailbox keeps more than one notification.
    package func page(
        of device: DeviceKey,
        after version: MailboxVersion?,
    ) async throws(StoreError) -> MailboxPage {
        MailboxPage(entries: try await entries(of: device))
    }

    package func fitMailboxes(limit: Int) async throws(StoreError) -> Int { 0 }

    /// Finds nothing, in a store without subscriptions.
    package func withdraw(
        _ id: NotificationID,
        from destination: Destination,
    ) async throws(StoreError) -> MailboxVersion? { nil }
}

/// A part of the contents of a device's mailboxes.
package struct MailboxPage: Sendable {
    package var entries: [StoredMailboxEntry]
    /// The last version of the page; nil if nothing follows.
    package var last: MailboxVersion?
    /// The mailboxes that have more than the page.
    package var following: Set<DeviceMailbox>

    package init(entries: [StoredMailboxEntry], last: MailboxVersion? = nil, following: Set<DeviceMailbox> = []) {
        (self.entries, self.last, self.following) = (entries, last, following)
    }
}

/// Identifies one content of a mailbox. It is unique for the destination, never used again, and greater than all
/// earlier versions of the mailbox.
package struct MailboxVersion: Sendable, Hashable, Comparable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static func < (lhs: MailboxVersion, rhs: MailboxVersion) -> Bool { lhs.rawValue < rhs.rawValue }

    /// Marks a notification in a mailbox that keeps more than one. It is a bit of the number, so that a version takes no
    /// more memory. Stores count in microseconds or one by one, and never get as far.
    private static let keptBit: UInt64 = 1 << 62

    /// A notification in a mailbox that keeps more than one.
    /// - Parameter number: less than 2^62.
    package init(kept number: UInt64) { rawValue = number | Self.keptBit }

    /// Whether it is in a mailbox that keeps more than one: a newer one does not replace it.
    package var isKept: Bool { rawValue & Self.keptBit != 0 && rawValue >> 63 == 0 }

    /// The number without the mark.
    package var number: UInt64 { isKept ? rawValue ^ Self.keptBit : rawValue }
}

/// A notification to store.
package struct MailboxEntry: Sendable, Hashable {
    package var destination: Destination
    package var notification: Notification
    /// The time from which it is no longer delivered.
    package var expires: Timestamp
    /// How long ago the notification was accepted; nil if an earlier attempt may have stored it. The entry replaces no other
    /// notification that another node has stored since then, because that one may be newer and its provider may have its
    /// 200 already. A store that cannot tell goes by the ``age``. An embedded store replaces whatever the mailbox holds.
    package var waited: Duration?
    /// How long ago the notification was accepted, or first passed to the store. The entry replaces no other notification
    /// that may have been stored since then by another node. Nil if the notification is stored at once.
    package var age: Duration?

    package init(
        destination: Destination,
        notification: Notification,
        expires: Timestamp,
        waited: Duration? = nil,
        age: Duration? = nil,
    ) {
        self.destination = destination
        self.notification = notification
        self.expires = expires
        self.waited = waited
        self.age = age
    }
}

/// A stored notification.
package struct StoredMailboxEntry: Sendable, Hashable {
    package var entry: MailboxEntry
    package var version: MailboxVersion

    package init(entry: MailboxEntry, version: MailboxVersion) {
        self.entry = entry
        self.version = version
    }

    /// What a damaged disk has left of a notification. It is not sound (``Notification/isSound``), so the line of its
    /// device drops it, and sends what is in the device's other mailboxes.
    package static func damaged(
        _ destination: Destination,
        _ version: MailboxVersion,
        id: NotificationID?,
        topic: String,
        expires: Timestamp,
    ) -> StoredMailboxEntry {
        let notification = Notification(
            id: id ?? NotificationID(high: 0, low: 0), topic: topic, pushType: nil, priority: .immediate,
            expiration: .unspecified, collapseID: nil, payload: Payload(stored: [], contents: []))
        return StoredMailboxEntry(
            entry: MailboxEntry(destination: destination, notification: notification, expires: expires),
            version: version)
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

/// The result of a removal.
package enum MailboxRemoval: Sendable, Hashable {
    /// The mailbox held that version and is now empty.
    case removed
    /// The mailbox was empty, or holds another version, which stays.
    case superseded
}

extension Mailboxes {
    /// Does nothing. A store that several nodes share has no virtual clock.
    package func removeExpired(
        before moment: Timestamp,
        of app: AppID,
        limit: Int,
    ) async throws(StoreError) -> Int { 0 }
}
