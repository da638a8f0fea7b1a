@testable import Delivery
import Notifications

/// Drives a ``DeviceLine`` and tells what it wants done in numbers: sendings by how manieth of the line they are.
struct LineRig: ~Copyable {
    enum Step: Hashable {
        case send(UInt64, notification: UInt64)
        case read
        case remove(app: UInt32, version: UInt64)
        case acknowledged(UInt64)
        case returned(UInt64)
        /// A reading for another line.
        case otherRead
    }

    var line: DeviceLine
    var now = Example.moment
    let epoch: UInt64

    init(limit: Int = 100) {
        line = DeviceLine(now: now, after: 0, limit: limit)
        epoch = line.newestNumber
    }

    /// A line whose mailboxes have been read.
    static func open(limit: Int = 100, _ entries: [StoredMailboxEntry] = []) -> LineRig {
        var rig = LineRig(limit: limit)
        _ = rig.read(entries)
        return rig
    }

    mutating func offer(_ offer: Offer) -> (answer: OfferAnswer, step: Step?) {
        let (answer, action) = line.offer(offer)
        return (answer, action.map { step($0) })
    }

    mutating func offer(_ number: UInt64, app: UInt32 = 1) -> (answer: OfferAnswer, step: Step?) {
        offer(Example.offer(number, app: app))
    }

    mutating func stored(_ entry: StoredMailboxEntry, offer: UInt64? = nil) -> [Step] {
        let actions = line.stored(entry, offer: offer.map { OfferID($0) }, now: now)
        return actions.map { step($0) }
    }

    mutating func read(_ entries: [StoredMailboxEntry], epoch: UInt64? = nil) -> [Step] {
        let actions = line.read(entries, epoch: epoch ?? self.epoch, now: now)
        return actions.map { step($0) }
    }

    /// The device acknowledges sendings, by how manieth of the line they are.
    mutating func acknowledged(_ numbers: UInt64...) -> [Step] {
        let actions = line.acknowledged(numbers.map { epoch + $0 })
        return actions.map { step($0) }
    }

    mutating func end() -> [Step] {
        let actions = line.end()
        return actions.map { step($0) }
    }

    private func step(_ action: DeviceLine.Action) -> Step {
        switch action {
        case .send(let sending):
            .send(sending.number - epoch, notification: sending.notification.number)
        case .readMailboxes(let epoch):
            epoch == self.epoch ? .read : .otherRead
        case .remove(let reference):
            .remove(app: reference.destination.app.rawValue, version: reference.version.rawValue)
        case .acknowledged(let offer, _): .acknowledged(offer.rawValue)
        case .returned(let offer, _): .returned(offer.rawValue)
        }
    }
}
