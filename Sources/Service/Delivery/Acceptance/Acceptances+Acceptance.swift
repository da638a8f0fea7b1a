import Notifications

extension Acceptances {
    /// One notification between a provider's request and its answer.
    final class Acceptance {
        let offer: OfferID
        let submission: Submission
        let answers: any SubmissionAnswers
        let expires: Timestamp
        let accepted: Uptime
        /// When its request was read. It was accepted later if the device token had to be looked up.
        let read: Uptime
        var state = State.offered
        var isAnswered = false
        /// Older notifications to the same destination that this one replaces and that are answered together with
        /// it.
        var replaced: [Acceptance] = []

        init(
            _ submission: Submission,
            offer: OfferID,
            answers: any SubmissionAnswers,
            expires: Timestamp,
            accepted: Uptime,
            read: Uptime,
        ) {
            self.offer = offer
            self.submission = submission
            self.answers = answers
            self.expires = expires
            self.accepted = accepted
            self.read = read
        }
    }

    enum State {
        /// The notification is under way to a device, which has not acknowledged it.
        case offered
        /// The notification is being stored in the mailbox. `isOut` is true while it is under way to a device as
        /// well.
        case storing(isOut: Bool)
        /// The device has acknowledged the notification while it was being stored, so the mailbox need not keep it.
        case acknowledgedWhileStoring
        /// A newer notification to the same destination is stored instead.
        case replaced
        /// The notification is answered and finished.
        case over
    }
}

extension Acceptances.Acceptance {
    /// Whether this notification was accepted after the other offer. Both must have the same origin.
    func isNewer(than other: OfferID) -> Bool { offer.number > other.number }

    var entry: MailboxEntry {
        MailboxEntry(destination: submission.destination, notification: submission.notification, expires: expires)
    }

    var subject: NotificationSubject {
        NotificationSubject(submission.notification, to: submission.destination, generation: submission.generation)
    }

    /// Answers the provider, unless it was already answered.
    func answer(_ outcome: Outcome, _ actions: inout [Acceptances.Action]) {
        guard !isAnswered else { return }
        isAnswered = true
        if case .rejected(let rejection) = outcome { actions.append(.record(.rejected(rejection.reason), subject)) }
        actions.append(.answer(answers, submission.ticket, outcome))
    }
}
