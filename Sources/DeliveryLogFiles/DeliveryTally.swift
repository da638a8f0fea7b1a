package import Delivery
package import Notifications

/// How often each step happened, and how long storing and acknowledging took: what metrics are made of.
package struct DeliveryTally: Sendable {
    /// All steps.
    package private(set) var count = 0
    /// By the kinds' numbers.
    private var counts = [Int](repeating: 0, count: Self.kindsEnd)
    private static let kindsEnd = 1 + Int(DeliveryStep.Kind.allCases.map(\.rawValue).max() ?? 0)
    /// Among them the rejections, by reason.
    package private(set) var rejections: [Rejection.Reason: Int] = [:]
    /// From acceptance to disk, in microseconds, each.
    package private(set) var storing: [UInt32] = []
    /// From sending to acknowledgement, in microseconds, each.
    package private(set) var acknowledging: [UInt32] = []

    package subscript(kind: DeliveryStep.Kind) -> Int { counts[Int(kind.rawValue)] }

    mutating func count(_ step: DeliveryStep) {
        count += 1
        counts[Int(step.kind.rawValue)] += 1
        switch step {
        case .rejected(let reason): rejections[reason, default: 0] += 1
        case .stored(let microseconds): storing.append(microseconds)
        case .acknowledged(let microseconds): acknowledging.append(microseconds)
        default: break
        }
    }
}
