import HTTPAPI
import Notifications

/// The members of a message in the form that a request or the store has. ``MessageDocument`` is what they mean.
struct MessageRequest: Sendable {
    let bundleID: String?
    let audience: AudienceRequest
    let payload: JSONValue
    let texts: JSONValue?
    let fallbackLanguage: String?
    let values: JSONValue?
    let activity: String?
    let sendAt: String?
    let localTime: String?
    let rate: Int64?
    let isDryRun: Bool?
    let countsOpened: Bool?
    let quietHours: QuietHours?
    let headers: MessageHeaders

    static let form = form(audience: AudienceRequest.form, language: .language, activity: .installation)

    /// A stored message was checked when it was accepted. Earlier versions accepted more texts that mean nothing.
    static let storedForm = form(audience: AudienceRequest.storedForm, language: .any, activity: .any)

    private static func form(
        audience: JSONForm<AudienceRequest>,
        language: TextFormat,
        activity: TextFormat,
    ) -> JSONForm<MessageRequest> {
        .object(
            "MessageRequest",
            MessageRequest.init,
            .optional("bundleID", .text(.bundleID), \.bundleID, "The app. A key of an app needs no name."),
            .required("audience", audience, \.audience),
            .required(
                "payload", .json(.openObject), \.payload, "The payload. Its texts may name values in double braces."),
            .optional("texts", .json(.openObject), \.texts, "Texts by language and name."),
            .optional("fallbackLanguage", .text(language), \.fallbackLanguage),
            .optional("values", .json(.openObject), \.values, "Values for recipients that have none of their own."),
            .optional(
                "activity", .text(activity), \.activity, "The Live Activity that the message updates or ends."),
            .optional("sendAt", .text(.timeText), \.sendAt, "Such as 2027-01-31T09:00:00Z."),
            .optional("localTime", .text(.localTime), \.localTime, "Such as 2027-01-31T09:00."),
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

    static let rateForm = JSONForm<Int64>.integer(from: 1, to: Int(clamping: ProviderServerLimits.rate))
}

/// A change of a message.
struct MessagePatch: Sendable {
    /// Nil removes the limit.
    let rate: Int64?

    static let form: JSONForm<MessagePatch> = .object(
        "MessagePatch", MessagePatch.init(rate:),
        .required("rate", .nullable(MessageRequest.rateForm), \.rate, "Notifications a second; null removes the limit.")
    )
}

extension TextFormat {
    fileprivate static let localTime = TextFormat("a date and time without a time zone, such as 2027-01-31T09:00") {
        LocalTime($0) != nil
    }
}
