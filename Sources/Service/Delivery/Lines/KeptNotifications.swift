import DequeModule

/// What a device line knows of the contents of mailboxes that keep more than one notification.
///
/// In such a mailbox nothing replaces another, so the newest version that was sent says nothing about the others. The line
/// knows each one that is under way, and here are those that it must not send although a reading finds them.
struct KeptNotifications {
    /// A notification in one of the device's mailboxes. Two mailboxes may have the same version.
    struct Place: Hashable {
        let mailbox: DeviceMailbox
        let version: MailboxVersion
    }

    /// Those that the device has acknowledged, in their order. The store may not have removed them yet.
    private var acknowledged = Deque<Place>()
    private var isAcknowledged: Set<Place> = []
    /// What the delivery log has already about those that wait in a mailbox, and what it had before the reading of the
    /// mailboxes began. The reading forgets those that are no longer there.
    private var recorded: [Place: DeliveryStep] = [:]
    private var recordedBefore: [Place: DeliveryStep] = [:]

    /// How many acknowledged ones are remembered: far more than are acknowledged while the store removes one. If one is
    /// forgotten too early, the device may get it twice.
    static let limit = 1024

    mutating func remember(acknowledged place: Place) {
        guard isAcknowledged.insert(place).inserted else { return }
        acknowledged.append(place)
        if acknowledged.count > Self.limit, let oldest = acknowledged.popFirst() { isAcknowledged.remove(oldest) }
    }

    mutating func record(_ step: DeliveryStep, of place: Place) { recorded[place] = step }

    func recorded(_ place: Place) -> DeliveryStep? {
        recorded[place] ?? recordedBefore[place]
    }

    mutating func sent(_ place: Place) { recorded[place] = nil }

    mutating func beginReading() { (recordedBefore, recorded) = (recorded, [:]) }

    func wasAcknowledged(_ place: Place) -> Bool { isAcknowledged.contains(place) }
}
