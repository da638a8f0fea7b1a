import Notifications

/// The unacknowledged attempts of a stream that has ended. They are kept for a short time, because acknowledgements
/// may still arrive: some were under way when the stream ended, or the device sends them just afterwards.
struct EndedAttempts {
    /// How long the attempts are kept. A device that closes its stream in good order acknowledges at once.
    static let life = Duration.seconds(10)

    private var attempts: Numbered<DeviceLine.UnderWay>
    let expires: Uptime

    init(_ attempts: Numbered<DeviceLine.UnderWay>, now: Uptime) {
        self.attempts = attempts
        expires = now.advanced(by: Self.life)
    }

    /// Records that an attempt was stored in its mailbox after the stream had ended.
    mutating func stored(_ reference: MailboxReference, offer: OfferID) {
        guard let number = attempts.firstNumber(where: { $0.offer == offer }) else { return }
        attempts[number]?.version = reference.version
    }

    /// Handles late acknowledgements: the offers are reported as acknowledged, and the mailboxes are emptied.
    mutating func acknowledged(_ numbers: [UInt64], _ acknowledged: inout DeviceLine.Acknowledged) {
        for number in numbers {
            if let attempt = attempts.remove(number) { acknowledged.attempts.append(attempt) }
        }
    }
}
