import Notifications

/// The unacknowledged attempts of a stream that has ended, kept for a short time. An acknowledgement that was under
/// way when the stream ended, or that the device sends just afterwards, still counts.
struct EndedAttempts {
    /// The time for which they are kept. A device that closes in good order acknowledges at once.
    static let life = Duration.seconds(10)

    private var attempts: Numbered<DeviceLine.UnderWay>
    let expires: Uptime

    init(_ attempts: Numbered<DeviceLine.UnderWay>, now: Uptime) {
        self.attempts = attempts
        expires = now.advanced(by: Self.life)
    }

    /// Records that an attempt that came back from the stream was stored.
    mutating func stored(_ reference: MailboxReference, offer: OfferID) {
        guard let number = attempts.firstNumber(where: { $0.offer == offer }) else { return }
        attempts[number]?.version = reference.version
    }

    /// Handles late acknowledgements: the offers are reported as acknowledged, and the mailboxes are emptied.
    mutating func acknowledged(_ numbers: [UInt64], _ actions: inout [DeviceLine.Action]) {
        for number in numbers {
            if let attempt = attempts.remove(number) { actions.append(.acknowledged(attempt)) }
        }
    }
}
