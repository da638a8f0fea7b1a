package import Notifications

/// A notification that a gateway hands over: checked, and addressed.
package struct Submission: Sendable {
    package var destination: Destination
    /// The generation of the device token that the provider used.
    package var generation: UInt32
    package var notification: Notification
    /// Whatever the gateway knows the request by.
    package var ticket: UInt64

    package init(destination: Destination, generation: UInt32, notification: Notification, ticket: UInt64) {
        self.destination = destination
        self.generation = generation
        self.notification = notification
        self.ticket = ticket
    }
}

/// What a gateway may tell the provider.
package enum Outcome: Sendable, Hashable {
    /// Accepted: it is delivered at least once, or ends for a reason that can be looked up.
    case accepted
    case rejected(Rejection)
}

/// Takes the answers to submissions: a gateway's connection.
package protocol SubmissionAnswers: AnyObject, Sendable {
    /// Called once for each submission, on any thread; during ``Delivery/submit(_:answers:)`` or later.
    func answer(_ ticket: UInt64, with outcome: Outcome)
}
