import APNSProvider
import CommandSupport

/// The service's answer to one notification, as a line of JSON.
struct AnswerLine: Encodable {
    let status: Int
    var apnsID: String?
    var reason: String?
    /// The timestamp of a 410, in milliseconds since 1970 (Guide, Table 8-5).
    var timestamp: UInt64?
    /// What was wrong with this request, if the service says so.
    var detail: String?
}

extension Output {
    func print(_ answer: PushAnswer) {
        let refusal = [answer.reason ?? "without a reason", answer.detail].compactMap(\.self).joined(separator: ": ")
        print(
            AnswerLine(
                status: answer.status, apnsID: answer.apnsID, reason: answer.reason, timestamp: answer.timestamp,
                detail: answer.detail),
            answer.status == 200 ? "Accepted: \(answer.apnsID ?? "")" : "Refused: \(answer.status) \(refusal)")
    }
}
