import CampaignStore
import HTTPAPI
import Notifications

/// A message, as the API and events show it.
struct MessageView: Sendable {
    let id: String
    let bundleID: String
    let state: MessageRecord.State
    let createdAt: String
    let startsAt: String
    let finishedAt: String?
    let accepted: Int64
    let failed: Int64
    let opened: Int64
    let failedByReason: [String: Int64]
    let total: Int64?
    let title: String?
    let rate: Int64?
    let cause: String?
    var recipients: Int64?
    var request: JSONValue?
    var outcomes: [OutcomeView]?

    static let form: JSONForm<MessageView> = JSONForm.object(
        "Message",
        MessageView.init(
            id:bundleID:state:createdAt:startsAt:finishedAt:accepted:failed:opened:failedByReason:
            total:title:rate:cause:recipients:request:outcomes:),
        .required("id", .text(.any), \.id),
        .required("bundleID", .text(.any), \.bundleID),
        .required("state", stateForm, \.state),
        .required("createdAt", .text(.any), \.createdAt),
        .required("startsAt", .text(.any), \.startsAt),
        .optional("finishedAt", .text(.any), \.finishedAt),
        .required("accepted", .integer(), \.accepted),
        .required("failed", .integer(), \.failed),
        .required("opened", .integer(), \.opened, "How many opened it, as the app says."),
        .required("failedByReason", .dictionary(of: .integer()), \.failedByReason, "How many failed, by reason."),
        .optional("total", .integer(), \.total, "How many recipients it has, as soon as they are counted."),
        .optional("title", .text(.any), \.title, "The title or the body of its alert."),
        .optional("rate", .integer(), \.rate),
        .optional("cause", .text(.any), \.cause, "Why sending waits, or why it stopped."),
        .optional("recipients", .integer(), \.recipients),
        .optional("request", .json(.any), \.request),
        .optional(
            "outcomes", .list(of: OutcomeView.form), \.outcomes, "The first outcomes, if the request waited."))

    private static let stateForm: JSONForm<MessageRecord.State> =
        JSONForm<String>.text(.oneOf(MessageRecord.State.allCases.map(\.rawValue))).map(
            to: \.rawValue, from: MessageRecord.State.init(rawValue:), allowed: "the state of a message")
}

extension MessageView {
    /// - Parameter cause: why this server does not get on with the message. The store has it too, unless the store is the
    ///   cause.
    init(_ message: MessageRecord, bundleID: String, cause: String? = nil) {
        let tally = message.tally
        self.init(
            id: message.id, bundleID: bundleID, state: message.state, createdAt: message.created.text,
            startsAt: message.starts.text, finishedAt: message.finished?.text, accepted: tally.accepted,
            failed: tally.failed.values.reduce(0, &+), opened: tally.opened, failedByReason: tally.failed,
            total: message.total.map { max($0, tally.total) }, title: MessageTitle.text(of: message.document),
            rate: message.rate, cause: cause ?? message.cause)
    }
}
