/// How much a mailbox may hold. If it holds more, the oldest notifications are dropped.
package struct MailboxBound: Sendable, Hashable {
    /// The number of notifications.
    package var count: Int
    /// The bytes of their payloads together.
    package var bytes: Int

    package init(count: Int, bytes: Int) { (self.count, self.bytes) = (count, bytes) }

    /// The bound of the mailbox of an app that keeps this many.
    package static func app(keep: Int) -> MailboxBound { MailboxBound(count: keep, bytes: maximumBytes) }

    /// The bound of a Web Push subscription: as much as a person reads who was away, and what a sender can make the service
    /// keep. The bytes are those of the bodies.
    package static let subscription = MailboxBound(count: 100, bytes: 256 << 10)

    /// How many notifications an app may keep for each device: more than a till sells in an hour without its network.
    package static let maximumCount = 1000

    /// Payloads of the usual largest size, 4 KiB, for ``maximumCount`` notifications, and what their sizes differ by. It
    /// bounds what a device costs on disk for each app.
    package static let maximumBytes = 4 << 20

    /// How many notifications are read at a time from the mailboxes of a device that keep more than one. A device that
    /// connects takes this much of the service's memory, 400 KB with payloads of 4 KB, and not all that it has missed.
    package static let pageCount = 100
}
