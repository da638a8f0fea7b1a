package import Notifications

/// Where the connections of devices are, and the way to them.
///
/// That nobody holds a device is a hint, never proof that it is offline: whoever hears it stores the notification and
/// then says so with ``stored(_:offer:)``; and a courier attaches first and reads the mailboxes afterwards. So
/// whichever comes first, one of the two sees the other.
///
/// Where the device may be at another node, more is asked of it:
/// - For ``stored(_:offer:)`` it looks where the device is after the store has answered; what it knew before is good enough
///   for an offer only. It says so until that node has heard it, or has lost the device.
/// - Of one device, what a node offers does not overtake what the same node has said of it before. What is stored may be said
///   late, and in any order.
/// - A node that loses another reads the mailboxes of its devices again.
/// - A node that cannot renew its hold on its devices ends their streams before others may take that it has none.
/// - A stream's sendings have greater numbers than all that the device was given before, at whichever node.
package protocol Switchboard: Sendable {
    /// Offers a notification to whoever holds the device's connection.
    /// - Returns: `taken` or `held` where somebody does, or may; what becomes of it is then reported to ``OfferOutcomes`` once.
    func offer(_ offer: Offer, now: Moment) -> OfferAnswer

    /// Says that a mailbox has a new content: whoever holds the device sends it, unless it is under way already as the
    /// named offer; then its acknowledgement empties the mailbox.
    func stored(_ entry: StoredMailboxEntry, offer: OfferID?)

    /// Takes a device's stream over from an older one, and sends what the device's mailboxes hold.
    /// - Parameter power: what the device has said of its power on this connection.
    func attach(_ stream: any NotificationStream, of device: DeviceKey, power: DevicePower)

    /// The stream is gone. Harmless where another has taken over.
    func detach(_ stream: any NotificationStream, of device: DeviceKey)

    /// The device says that it has taken these sendings.
    func acknowledge(_ sendings: [UInt64], by device: DeviceKey)

    /// The device is not sent these after all, because their app was deleted: they are under way no more, and what was
    /// offered comes back.
    func giveUp(_ sendings: [UInt64], to device: DeviceKey)

    /// The device says how its power stands, which decides when what is not urgent is sent to it.
    func changePower(of device: DeviceKey, to power: DevicePower)

    /// Ends the stream that the device has, if any.
    func disconnect(_ device: DeviceKey, because end: StreamEnd)

    /// Where the outcomes of offers go; kept weakly.
    func report(to outcomes: any OfferOutcomes)
}

/// A notification on its way to a connected device.
package struct Offer: Sendable {
    /// Nil when nobody waits for the outcome: one attempt, whatever becomes of it.
    package var id: OfferID?
    package var destination: Destination
    package var notification: Notification

    package init(id: OfferID?, destination: Destination, notification: Notification) {
        self.id = id
        self.destination = destination
        self.notification = notification
    }
}

package enum OfferAnswer: Sendable, Hashable {
    case taken
    /// Somebody does, and sends it when there is a reason to wake the device: it is to be stored meanwhile.
    case held
    /// Nobody is known to hold the device, or it has more than enough under way.
    case returned
}

/// Hears what became of offers that were taken. Called on any thread; what is said of another origin's offers means
/// nothing here.
package protocol OfferOutcomes: AnyObject, Sendable {
    /// The device has taken it.
    func acknowledged(_ offer: OfferID, of destination: Destination)
    /// It may not have arrived.
    func returned(_ offer: OfferID, of destination: Destination)
}

/// One notification on one stream.
package struct Sending: Sendable, Hashable {
    /// What the device acknowledges; unique to the device.
    package var number: UInt64
    package var destination: Destination
    package var notification: Notification
    /// Whether the stream has had another with its identifier lately.
    package var isDuplicate: Bool

    package init(number: UInt64, destination: Destination, notification: Notification, isDuplicate: Bool = false) {
        self.number = number
        self.destination = destination
        self.notification = notification
        self.isDuplicate = isDuplicate
    }
}

/// Why a device's stream ends.
package enum StreamEnd: Sendable, Hashable {
    /// The device has opened another one.
    case takenOver
    /// The service is going down.
    case shutdown
    /// The mailboxes cannot be read now, or the accounts are not known to be current.
    case storeUnavailable
    /// The device is trusted no more.
    case revoked
}

/// A device's open connection: a courier's.
package protocol NotificationStream: AnyObject, Sendable {
    /// Sends after everything sent before. Called on any thread and never waits.
    func send(_ sending: Sending)
    /// Ends the stream after what was sent. Called on any thread and never waits.
    func end(_ reason: StreamEnd)
}
