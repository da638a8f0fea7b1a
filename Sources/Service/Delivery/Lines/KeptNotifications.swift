import DequeModule

/// What a device line knows of the contents of mailboxes that keep more than one notification.
///
/// In such a mailbox nothing replaces another, so the newest version that was sent says nothing about the others. The line
/// knows each one that is under way, and here are those that it must not send although a reading finds them.
struct KeptNotifications {
    /// Those that the device has acknowledged, in their order. The store may not have removed them yet.
    private var acknowledged = Deque<MailboxVersion>()
    private var isAcknowledged: Set<MailboxVersion> = []
    /// What the delivery log has already about those that wait in a mailbox, and what it had before the reading of the
    /// mailboxes began. The reading forgets those that are no longer there.
    private var recorded: [MailboxVersion: DeliveryStep] = [:]
    private var recordedBefore: [MailboxVersion: DeliveryStep] = [:]

    /// How many acknowledged ones are remembered: far more than are acknowledged while the store removes one. If one is
    /// forgotten too early, the device may get it twice.
    static let limit = 1024

    mutating func remember(acknowledged version: MailboxVersion) {
        guard isAcknowledged.insert(version).inserted else { return }
        acknowledged.append(version)
        if acknowledged.count > Self.limit, let oldest = acknowledged.popFirst() { isAcknowledged.remove(oldest) }
    }

    mutating func record(_ step: DeliveryStep, of version: MailboxVersion) { recorded[version] = step }

    func recorded(_ version: MailboxVersion) -> DeliveryStep? { recorded[version] ?? recordedBefore[version] }

    mutating func sent(_ version: MailboxVersion) { recorded[version] = nil }

    mutating func beginReading() { (recordedBefore, recorded) = (recorded, [:]) }

    func wasAcknowledged(_ version: MailboxVersion) -> Bool { isAcknowledged.contains(version) }
}
