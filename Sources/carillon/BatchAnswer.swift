import APNSProvider
import Foundation

/// What a batch prints for one of its lines: the service's answer, or why there is none, under the same keys.
///
/// Without an answer there is no `status`, and `reason` is the name of a ``ProviderError/Code``: those begin with a small
/// letter, the service's reasons with a capital one. The sentence that goes with it is told on standard error.
struct BatchAnswer: Encodable {
    /// As the line has it; empty where it has none.
    var token: String
    /// The notification's identifier, where it is known.
    var id: String?
    var status: Int?
    var reason: String?
    /// In milliseconds since 1970; with 410 alone.
    var timestamp: UInt64?

    init(_ outcome: PushOutcome<PushRequest>) {
        token = outcome.item.deviceToken
        switch outcome.result {
        case .success(let receipt):
            id = receipt.apnsID
            status = 200
        case .failure(let error):
            id = error.rejection?.apnsID ?? outcome.item.id
            reason = error.rejection?.reason.rawValue ?? "\(error.code)"
            status = error.rejection?.status
            timestamp = error.rejection?.timestamp.flatMap {
                // Nil for one that is no time at all.
                UInt64(exactly: ($0.timeIntervalSince1970 * 1000).rounded())
            }
        }
    }

    init(_ line: BadBatchLine) {
        token = line.token ?? ""
        id = line.id
        reason = "\(ProviderError.Code.badNotification)"
    }
}

/// A line of a batch that is no notification.
struct BadBatchLine: Error {
    let number: Int
    /// What it says all the same.
    let token: String?
    let id: String?
    /// What is wrong with it, to follow "no notification:".
    let cause: String
}
