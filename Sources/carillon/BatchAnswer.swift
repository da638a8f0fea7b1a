import APNSProvider
import Foundation

/// The answer that a batch prints for one line: the service's, or why there is none, with the same keys.
///
/// Without an answer there is no `status`, and `reason` is the name of a ``ProviderError/Code``. These names begin with
/// a small letter, the service's reasons with a capital letter. Standard error has a sentence with the details.
struct BatchAnswer: Encodable {
    /// As the line has it; empty if none can be read.
    var token: String
    /// The notification's identifier, if it is known.
    var id: String?
    var status: Int?
    var reason: String?
    /// In milliseconds since 1970; with a 410 only.
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
                // Nil if the date cannot be expressed in milliseconds.
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
