package import Delivery
package import Notifications

/// Counts events, and collects the times that storing and acknowledging took. The metrics are made from this.
package struct DeliveryTally: Sendable {
    /// The number of all events.
    package private(set) var count = 0
    /// The number of events of each kind. The index is the number of the kind.
    private var counts = [Int](repeating: 0, count: Self.kindsEnd)
    private static let kindsEnd = 1 + Int(DeliveryStep.Kind.allCases.map(\.rawValue).max() ?? 0)  // fits: a byte
    /// The number of rejections, by reason.
    package private(set) var rejections: [Rejection.Reason: Int] = [:]
    /// The times from acceptance until the notification was on disk, in microseconds.
    package private(set) var storing: [UInt32] = []
    /// The times from sending to acknowledgement, in microseconds.
    package private(set) var acknowledging: [UInt32] = []

    package subscript(kind: DeliveryStep.Kind) -> Int { counts[Int(kind.rawValue)] }  // fits: a byte

    mutating func count(_ step: DeliveryStep) {
        count += 1
        counts[Int(step.kind.rawValue)] += 1  // fits: a byte
        switch step {
        case .rejected(let reason): rejections[reason, default: 0] += 1
        case .stored(let microseconds): storing.append(microseconds)
        case .acknowledged(let microseconds): acknowledging.append(microseconds)
        default: break
        }
    }
}
