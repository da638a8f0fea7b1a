import APNSProvider
import Foundation

/// What a batch prints for one line: the service's answer, or why there is none. Both have the same keys.
///
/// If there is no answer, `status` is missing, and `reason` is the name of a ``ProviderError/Code``. These names
/// begin with a small letter, while the service's reasons begin with a capital letter. Standard error has a sentence
/// with the details.
struct BatchAnswer: Encodable {
    /// The device token as it is in the line; empty if the line has none.
    var token: String
    /// The notification's identifier, if it is known.
    var id: String?
    var status: Int?
    var reason: String?
    /// The timestamp of a 410, in milliseconds since 1970.
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
