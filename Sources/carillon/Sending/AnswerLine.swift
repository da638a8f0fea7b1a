import APNSProvider
import CommandSupport

/// The service's answer to one notification or broadcast, as a line of JSON.
struct AnswerLine: Encodable {
    let status: Int
    /// The identifier of the notification; that of a broadcast's request, `apns-request-id`.
    var apnsID: String?
    var reason: String?
    /// The timestamp of a 410, in milliseconds since 1970 (Guide, Table 8-5).
    var timestamp: UInt64?
    /// What was wrong with this request, if the service says so.
    var detail: String?
}

extension Output {
    /// - Parameter timestamp: the answer's own for a notification. A broadcast's has none (Guide, Table 8-5).
    func print(_ answer: PushAnswer, timestamp: UInt64?) {
        let refusal = [answer.reason ?? "without a reason", answer.detail].compactMap(\.self).joined(separator: ": ")
        print(
            AnswerLine(
                status: answer.status, apnsID: answer.apnsID, reason: answer.reason, timestamp: timestamp,
                detail: answer.detail),
            answer.status == 200 ? "Accepted: \(answer.apnsID ?? "")" : "Refused: \(answer.status) \(refusal)")
    }
}
