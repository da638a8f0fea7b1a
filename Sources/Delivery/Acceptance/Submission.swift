package import Notifications

/// A notification that a gateway hands over: checked, and addressed.
package struct Submission: Sendable {
    package var destination: Destination
    /// As the provider named it.
    package var deviceToken: DeviceToken
    /// The generation of the device token that the provider used.
    package var generation: UInt32
    package var notification: Notification
    /// Whatever the gateway knows the request by.
    package var ticket: UInt64

    package init(
        destination: Destination,
        deviceToken: DeviceToken,
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

/// What a gateway may tell the provider.
package enum Outcome: Sendable, Hashable {
    /// Accepted: it is delivered at least once, or ends for a reason that can be looked up.
    case accepted
    case rejected(Rejection)
}

/// What became of the submission with a ticket.
package typealias SubmissionAnswer = (ticket: UInt64, outcome: Outcome)

/// Takes the answers to submissions: a gateway's connection.
package protocol SubmissionAnswers: AnyObject, Sendable {
    /// Called once for each submission, on any thread; during ``Delivery/submit(_:answers:)`` or later.
    func answer(_ ticket: UInt64, with outcome: Outcome)

    /// The same for several that are known together.
    func answer(_ answers: [SubmissionAnswer])

    /// Asked after a submission was rejected before anything became of it, on the thread that said so: whether those that
    /// follow it, in its batch and in those that wait for a look-up behind it, are to be taken. Those that are not get no
    /// answer.
    var takesMore: Bool { get }
}

extension SubmissionAnswers {
    package func answer(_ answers: [SubmissionAnswer]) {
        for (ticket, outcome) in answers { answer(ticket, with: outcome) }
    }

    package var takesMore: Bool { true }
}
