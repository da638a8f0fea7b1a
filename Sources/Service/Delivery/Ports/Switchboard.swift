package import Notifications
package import Storage

/// Finds the connections of devices and sends notifications to them.
///
/// If the answer is that nobody holds a device, it may be connecting at this moment. So the notification is then
/// stored, and announced with ``stored(_:offer:)``. A courier attaches a stream before it reads the mailboxes. So if
/// the device connects meanwhile, the announcement finds the stream, or the courier finds the notification in its
/// mailbox.
///
/// If devices may be connected to other nodes, a switchboard must also meet these conditions:
/// - For ``stored(_:offer:)`` it finds out which node holds the device after the store has answered. What it knew
///   before may be outdated, and is only good enough for an offer. It repeats the announcement until that node has
///   received it or has lost the device.
/// - For one device, a node's offer does not overtake what the same node has announced before. Announcements of
///   stored notifications may come late and in any order.
/// - When a node loses its connection to another one, it reads the mailboxes of its devices again.
/// - When a node cannot renew its hold on its devices, it ends their streams before other nodes may assume that it
///   has none.
/// - A stream's attempts have greater numbers than all earlier ones to the device, at any node.
package protocol Switchboard: Sendable {
    /// Offers a notification to the node that holds the device's connection.
    /// - Returns: `taken` or `held` if a node holds or may hold the device; the outcome is then reported to
    ///   ``OfferOutcomes`` once.
    func offer(_ offer: Offer, now: Moment) -> OfferAnswer

    /// Announces a mailbox's new content. The node that holds the device sends it, unless it is already under way as
    /// the named offer. In that case the acknowledgement of the offer empties the mailbox.
    func stored(_ entry: StoredMailboxEntry, offer: OfferID?)

    /// Attaches a device's stream in place of an older one, and sends the contents of the device's mailboxes.
    /// - Parameter power: the power state that the device has reported on this connection.
    func attach(_ stream: any NotificationStream, of device: DeviceKey, power: DevicePower)

    /// Attaches the stream of a device that has just been made, so that its mailboxes are empty and need not be read.
    func attachNew(_ stream: any NotificationStream, of device: DeviceKey, power: DevicePower)

    /// Detaches a stream that has ended. If another one has replaced it, this has no effect.
    func detach(_ stream: any NotificationStream, of device: DeviceKey)

    /// Handles the device's acknowledgements.
    func acknowledge(_ attempts: [UInt64], by device: DeviceKey)

    /// Gives up attempts whose app was deleted. They are no longer under way, and their offers are returned.
    func giveUp(_ attempts: [UInt64], to device: DeviceKey)

    /// Records the device's power state, which decides when notifications that are not urgent are sent.
    func changePower(of device: DeviceKey, to power: DevicePower)

    /// Handles that an app was removed from the device: notifications for it that wait here because of the device's
    /// power are no longer sent.
    func removed(_ destination: Destination)

    /// Handles that a message was removed from the queue of a subscription: it is not sent any more if it waits here.
    func withdrawn(_ reference: MailboxReference)

    /// Ends the device's stream, if it has one.
    func disconnect(_ device: DeviceKey, because end: StreamEnd)

    /// Returns the devices that are connected to this node, in the order of their IDs as unsigned numbers.
    /// - Parameters:
    ///   - device: the page begins after this ID; nil for the first page.
    ///   - limit: the largest number of devices.
    /// - Returns: At most `limit` devices; less if there are no more.
    func connected(
        in environment: Environment,
        after device: DeviceID?,
        limit: Int,
    ) async throws(StoreError) -> [ConnectedDevice]

    /// Sets the receiver of the offers' outcomes, which is kept weakly.
    func report(to outcomes: any OfferOutcomes)
}

extension Switchboard {
    package func attachNew(_ stream: any NotificationStream, of device: DeviceKey, power: DevicePower) {
        attach(stream, of: device, power: power)
    }

    package func withdrawn(_ reference: MailboxReference) {}
}

/// A notification that is offered to a connected device.
package struct Offer: Sendable, Hashable {
    /// The offer's identifier; nil if nobody waits for the outcome, because the notification has a single attempt.
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
    /// A node holds the device, and sends the notification when there is a reason to wake the device. Store it
    /// meanwhile.
    case held
    /// Nobody is known to hold the device, or it has too many notifications under way.
    case returned
}

/// Receives the outcomes of offers that were taken. Called on any thread. An outcome is ignored if the offer was not
/// made by this node since its start.
package protocol OfferOutcomes: AnyObject, Sendable {
    /// The device has taken the notification.
    func acknowledged(_ offer: OfferID, of destination: Destination)
    /// The notification may not have arrived.
    func returned(_ offer: OfferID, of destination: Destination)
}

/// The receiver of a switchboard's outcomes. The reference is weak, because the receiver owns the switchboard.
struct WeakOutcomes {
    weak var receiver: (any OfferOutcomes)?
}

/// One notification on one stream.
package struct DeliveryAttempt: Sendable, Hashable {
    /// The number that the device acknowledges, unique for the device.
    package var number: UInt64
    package var destination: Destination
    package var notification: Notification
    /// Whether a notification with the same identifier was sent on this stream recently.
    package var isDuplicate: Bool

    package init(number: UInt64, destination: Destination, notification: Notification, isDuplicate: Bool = false) {
        self.number = number
        self.destination = destination
        self.notification = notification
        self.isDuplicate = isDuplicate
    }
}

/// The reason why a device's stream ends.
package enum StreamEnd: Sendable, Hashable {
    /// The device has opened another one.
    case takenOver
    /// The service shuts down.
    case shutdown
    /// The mailboxes cannot be read now, or the accounts may be out of date.
    case storeUnavailable
    /// The device was revoked.
    case revoked
}

/// A device's open connection at a courier.
package protocol NotificationStream: AnyObject, Sendable {
    /// Sends a notification after all earlier ones. Called on any thread and never waits.
    func send(_ attempt: DeliveryAttempt)
    /// Ends the stream after everything was sent. Called on any thread and never waits.
    func end(_ reason: StreamEnd)
}
