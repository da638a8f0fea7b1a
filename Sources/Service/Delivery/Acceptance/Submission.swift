package import Notifications

/// A notification that a provider API has checked and now submits for delivery, with its destination.
package struct Submission: Sendable {
    package var destination: Destination
    /// The device token that the provider used; nil for a message of Web Push.
    package var deviceToken: DeviceToken?
    /// The generation of the device token that the provider used, with its service (``TokenNumber``).
    package var generation: UInt32
    package var notification: Notification
    /// The connection's number for the request.
    package var ticket: UInt64

    package init(
        destination: Destination,
        deviceToken: DeviceToken?,
        generation: UInt32,
        notification: Notification,
        ticket: UInt64,
    ) {
        self.destination = destination
        self.deviceToken = deviceToken
        self.generation = generation
        self.notification = notification
        self.ticket = ticket
    }
}

/// The outcome that a provider API reports to the provider.
package enum Outcome: Sendable, Hashable {
    /// The notification is accepted. It is delivered at least once, or ends for a reason that the delivery log
    /// records.
    case accepted
    case rejected(Rejection)
}

/// The outcome of the submission with this ticket.
package typealias SubmissionAnswer = (ticket: UInt64, outcome: Outcome)

/// Receives the answers to submissions; a provider's connection implements it.
package protocol SubmissionAnswers: AnyObject, Sendable {
    /// Called once for each submission, on any thread, during ``Delivery/submit(_:answers:)`` or later.
    func answer(_ ticket: UInt64, with outcome: Outcome)

    /// Called with several answers that are known at the same time.
    func answer(_ answers: [SubmissionAnswer])

    /// Whether to go on with the submissions that follow a rejected one, in the same batch and in the queue of those
    /// that wait for a look-up. Called on the thread that reported the rejection. If false, they are ignored and get
    /// no answer.
    var takesMore: Bool { get }
}

extension SubmissionAnswers {
    package func answer(_ answers: [SubmissionAnswer]) {
        for (ticket, outcome) in answers { answer(ticket, with: outcome) }
    }

    package var takesMore: Bool { true }
}
