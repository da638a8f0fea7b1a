import CampaignStore
import Foundation
import HTTPAPI
import Notifications

extension ProviderMessages {
    /// A message to send, or a stored one. ``MessageDefinition`` is what it means.
    struct MessageRequest: JSONMessage {
        let bundleID: String?
        let audience: AudienceRequest
        let payload: JSONValue
        let texts: JSONValue?
        let fallbackLanguage: String?
        let values: JSONValue?
        let activity: String?
        let sendAt: Timestamp?
        let localTime: LocalTime?
        let rate: Int64?
        let isDryRun: Bool?
        let countsOpened: Bool?
        let quietHours: QuietHours?
        let headers: MessageHeaders

        static let form: JSONForm<MessageRequest> = form(
            audience: AudienceRequest.form, language: .language, activity: .installation, isStored: false)

        /// A stored message was checked when it was accepted. Earlier versions accepted more texts that mean nothing.
        static let storedForm: JSONForm<MessageRequest> = form(
            audience: AudienceRequest.storedForm, language: .any, activity: .any, isStored: true)

        private static func form(
            audience: JSONForm<AudienceRequest>,
            language: TextFormat,
            activity: TextFormat,
            isStored: Bool,
        ) -> JSONForm<MessageRequest> {
            .object(
                "MessageRequest",
                MessageRequest.init,
                .bundleID(\.bundleID), .required("audience", audience, \.audience),
                .required(
                    "payload", .json(.openObject), \.payload, "The payload. Its texts may name values in double braces."
                ),
                .optional("texts", .json(.openObject), \.texts, "Texts by language and name."),
                .optional("fallbackLanguage", .text(language), \.fallbackLanguage),
                .optional("values", .json(.openObject), \.values, "Values for recipients that have none of their own."),
                .optional(
                    "activity", .text(activity), \.activity, "The Live Activity that the message updates or ends."),
                .optional("sendAt", .time(isStored: isStored), \.sendAt, "Such as 2027-01-31T09:00:00Z."),
                .optional("localTime", LocalTime.form, \.localTime, "Such as 2027-01-31T09:00."),
                .optional("rate", rateForm, \.rate, "Notifications a second."),
                .optional("dryRun", .boolean, \.isDryRun),
                .optional(
                    "countsOpened", .boolean, \.countsOpened,
                    "Whether the payload has the identifier with which the app says that it was opened."),
                .optional(
                    "quietHours", QuietHours.form, \.quietHours,
                    "Times such as 22:00 and 08:00 in the recipient's time zone, between which the message is held."),
                .members(of: MessageHeaders.form, \.headers))
        }
    }

    /// A change of a message.
    struct MessagePatch: JSONMessage {
        /// Nil removes the limit.
        let rate: Int64?

        static let form: JSONForm<MessagePatch> = .object(
            "MessagePatch", MessagePatch.init(rate:),
            .required("rate", .nullable(rateForm), \.rate, "Notifications a second; null removes the limit."))
    }

    private static let rateForm = JSONForm<Int64>.integer(from: 1, to: Int(clamping: ProviderServerLimits.rate))

    /// A message, as answers and events show it.
    struct Message: JSONMessage {
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
        var outcomes: [Outcome]?

        static let form: JSONForm<Message> = .object(
            "Message", Message.init,
            .required("id", .text(.any), \.id), .required("bundleID", .text(.any), \.bundleID),
            .required("state", stateForm, \.state), .required("createdAt", .text(.any), \.createdAt),
            .required("startsAt", .text(.any), \.startsAt), .optional("finishedAt", .text(.any), \.finishedAt),
            .required("accepted", .integer(), \.accepted), .required("failed", .integer(), \.failed),
            .required("opened", .integer(), \.opened, "How many opened it, as the app says."),
            .required("failedByReason", .dictionary(of: .integer()), \.failedByReason, "How many failed, by reason."),
            .optional("total", .integer(), \.total, "How many recipients it has, as soon as they are counted."),
            .optional("title", .text(.any), \.title, "The title or the body of its alert."),
            .optional("rate", .integer(), \.rate),
            .optional("cause", .text(.any), \.cause, "Why sending waits, or why it stopped."),
            .optional("recipients", .integer(), \.recipients), .optional("request", .json(.any), \.request),
            .optional("outcomes", .list(of: Outcome.form), \.outcomes, "The first outcomes, if the request waited."))

        private static let stateForm: JSONForm<MessageRecord.State> =
            JSONForm<String>.text(.oneOf(MessageRecord.State.allCases.map(\.rawValue))).map(
                to: \.rawValue, from: MessageRecord.State.init(rawValue:), allowed: "the state of a message")
    }

    /// The outcome of one recipient.
    struct Outcome: JSONMessage {
        let installation: String?
        let apnsID: String
        let status: Int
        let reason: String?
        let at: String
        let openedAt: String?

        static let form: JSONForm<Outcome> = .object(
            "Outcome", Outcome.init,
            .optional("installation", .text(.any), \.installation, "Missing if it has been deleted."),
            .required("apnsID", .text(.any), \.apnsID),
            .required("status", .integer(to: 999), \.status, "The HTTP status of the service; 0 if nothing was sent."),
            .optional("reason", .text(.any), \.reason, "Missing if the service accepted the notification."),
            .required("at", .text(.any), \.at),
            .optional("openedAt", .text(.any), \.openedAt, "When the app said that the notification was opened."))
    }
}

extension ProviderMessages.Message {
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

extension ProviderMessages.Outcome {
    init(_ kept: KeptOutcome, of message: String) {
        let id = NotificationName.make(message: message, installation: kept.outcome.installation)
        self.init(
            installation: kept.installation, apnsID: id.uuidString.lowercased(), status: kept.outcome.status,
            reason: kept.outcome.reason, at: kept.outcome.at.text, openedAt: kept.outcome.opened?.text)
    }
}
