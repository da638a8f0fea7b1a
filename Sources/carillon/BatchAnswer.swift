import APNSProvider
import Foundation

/// What a batch prints for one of its lines: the service's answer, or why there is none, under the same keys.
///
/// Without an answer there is no `status`, and `reason` is the name of a ``ProviderError/Code``: those begin with a small
/// letter, the service's reasons with a capital one. The sentence that goes with it is told on standard error.
struct BatchAnswer: Encodable {
    /// As the line has it; empty where none can be read in it.
    var token: String
    /// The notification's identifier, where it is known.
    var id: String?
    var status: Int?
    var reason: String?
    /// In milliseconds since 1970; with 410 alone.
    var timestamp: UInt64?

    init(_ request: PushRequest, _ result: Result<PushReceipt, ProviderError>) {
        token = request.deviceToken
        switch result {
        case .success(let receipt):
            id = receipt.apnsID
            status = 200
        case .failure(let error):
            id = error.rejection?.apnsID ?? request.id
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
