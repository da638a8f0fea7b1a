import Delivery
import HTTPAPI
import HTTPTypes
import Notifications

// Requests that were captured and not forwarded (docs/gateway.md).
extension ManagementOperations {
    static let release = [
        ManagementOperation(
            method: .post, path: "/v1/requests/{number}/release",
            summary: "Forward a captured request to its app's upstream",
            parameters: [.path("number", .journalNumber, "The request's number in the journal.")],
            answer: .json(ManagementMessages.NotificationSent.schema), problems: [404, 409]
        ) { api, call in
            .json(try await api.release(call.parameter("number")))
        }
    ]
}

extension TextFormat {
    static let journalNumber = TextFormat("a number of the journal", pattern: "^[0-9]{1,19}$") {
        UInt64($0) != nil
    }
}

extension ManagementAPI {
    func release(_ text: String) async throws -> ManagementMessages.NotificationSent {
        guard let number = UInt64(text) else { throw Problem(400, "The number is not one of the journal.") }
        let (id, answer) = try await testing("The release of captured requests").release(number)
        switch answer {
        case .answered(let answer):
            var sent = ManagementMessages.NotificationSent(status: answer.status, apnsID: answer.apnsID ?? id)
            sent.reason = answer.reason
            sent.timestamp = answer.timestamp
            sent.detail = answer.detail
            return sent
        case .failed(let cause, _):
            let reason = Rejection.Reason.serviceUnavailable
            var sent = ManagementMessages.NotificationSent(status: reason.status, apnsID: id)
            sent.reason = reason.rawValue
            sent.detail = "The upstream has not answered: \(cause)"
            return sent
        }
    }
}
