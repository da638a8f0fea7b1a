import Notifications

/// What was under way on a stream that has ended, kept for a moment: an acknowledgement that was on its way when the
/// stream ended, or that a device sends just after it, still counts.
struct EndedSendings {
    /// How long. A device that ends in good order acknowledges at once.
    static let life = Duration.seconds(10)

    private var sendings: Numbered<DeviceLine.UnderWay>
    let expires: Uptime

    init(_ sendings: Numbered<DeviceLine.UnderWay>, now: Uptime) {
        self.sendings = sendings
        expires = now.advanced(by: Self.life)
    }

    /// What came back from the stream has been stored.
    mutating func stored(_ reference: MailboxReference, offer: OfferID) {
        guard let number = sendings.firstNumber(where: { $0.offer == offer }) else { return }
        sendings[number]?.version = reference.version
    }

    /// The device has taken these after all: their offers hear of it, and their mailboxes are emptied.
    mutating func acknowledged(_ numbers: [UInt64], _ actions: inout [DeviceLine.Action]) {
        for number in numbers {
            if let sending = sendings.remove(number) { actions.append(.acknowledged(sending)) }
        }
    }
}
