package import HTTPAPI
import Notifications

/// The meaning of a reason of a rejection, and what to do about it. All clients that explain a reason use these.
package struct ReasonExplanation: JSONMessage {
    package let reason: String
    package let status: Int
    package let meaning: String
    package let advice: String

    package static let form: JSONForm<ReasonExplanation> = .object(
        "Reason", ReasonExplanation.init(reason:status:meaning:advice:),
        .required("reason", .text(.any), \.reason), .required("status", .integer(from: 400, to: 599), \.status),
        .required("meaning", .text(.any), \.meaning, "What the reason says about the request."),
        .required("advice", .text(.any), \.advice, "What a provider should do."))

    /// Of every reason.
    package static let all = Rejection.Reason.allCases.map {
        ReasonExplanation(
            reason: $0.rawValue, status: $0.status, meaning: $0.row.meaning, advice: $0.row.advice.text)
    }
}
