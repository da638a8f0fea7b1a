import APNSProvider
import Foundation
import HTTPAPI
import Notifications
import CampaignStore

/// A message as its sender describes it.
struct MessageDocument: Sendable {
    static let schema = Schema.named(
        "MessageRequest",
        .object(
            [
                .optional("bundleID", .string(.bundleID), "The app. A key of an app needs no name."),
                .required("audience", AudienceReader.schema),
                .required("payload", .openObject, "The payload. Its texts may name values in double braces."),
                .optional("texts", .openObject, "Texts by language and name."),
                .optional("fallbackLanguage", fallbackLanguage.schema),
                .optional("values", .openObject, "Values for recipients that have none of their own."),
                .optional("activity", .string(.installation), "The Live Activity that the message updates or ends."),
                .optional("sendAt", .string(.timeText), "Such as 2027-01-31T09:00:00Z."),
                .optional("localTime", localTime.schema, "Such as 2027-01-31T09:00."),
                .optional("rate", rateForm.schema, "Notifications a second."),
                .optional("dryRun", .boolean),
                .optional(
                    "countsOpened", .boolean,
                    "Whether the payload has the identifier with which the app says that it was opened."),
                .optional(
                    "quietHours", QuietHours.schema,
                    "Times such as 22:00 and 08:00 in the recipient's time zone, between which the message is held."),
            ] + MessageHeaders.form.schema.members))

    static let rateForm = JSONForm<Int64>.integer(from: 1, to: Int(clamping: ProviderServerLimits.rate))
    private static let fallbackLanguage = JSONForm<String>.text(.line(maximumBytes: ProviderServerLimits.languageBytes))
    private static let localTime = JSONForm<String>.text(
        TextFormat("a date and time without a time zone, such as 2027-01-31T09:00") { LocalTime($0) != nil })

    let bundleID: String?
    let audience: Audience
    /// Values for single users or installations, by name. They come before the installation's own values.
    let ownValues: [ExactText: JSONMembers]
    /// The saved audience that the request names; nil if it names none, or for a stored message.
    let savedAudience: String?
    /// The broadcast channel that gets the message; nil if installations do.
    let channel: String?
    let template: PayloadTemplate
    let headers: MessageHeaders
    /// The Live Activity that the message updates or ends; nil for none.
    private let activity: String?
    /// What the payload does with a Live Activity: `start`, `update` or `end`; nil if it does not say it.
    private let event: String?
    let sendAt: Timestamp?
    /// The time of day at which each recipient gets the message in their own time zone.
    let localTime: LocalTime?
    let rate: Int64?
    let isDryRun: Bool
    /// Whether the payload has the message's identifier.
    let countsOpened: Bool
    /// The times of day between which recipients do not get the message.
    let quietHours: QuietHours?

    /// - Parameter isStored: whether the conditions of a saved audience replace its name; see ``stored(_:with:)``.
    init(_ value: JSONValue, isStored: Bool = false) throws(Problem) {
        let reader = try DocumentReader(value, at: "", keys: Self.schema.keys)
        bundleID = try reader.read("bundleID", .text(.bundleIDText))
        let recipients = try AudienceReader.read(try reader.required("audience"), isStored ? .stored : .message)
        (audience, ownValues, savedAudience) = (recipients.audience, recipients.ownValues, recipients.saved)
        channel = recipients.channel
        let (texts, fallback) = try Self.texts(reader)
        template = try PayloadTemplate(
            try reader.required("payload"), at: "/payload", texts: texts, fallback: fallback,
            defaults: try TemplateValues.read("values", reader) ?? [:])
        headers = try reader.members(of: MessageHeaders.form)
        activity = try reader.read("activity", .text(.line(maximumBytes: ProviderServerLimits.identifierBytes)))
        event = reader.members["payload"]?.members["aps"]?.members["event"]?.string
        sendAt = try Self.time(reader, isStored: isStored)
        localTime = try reader.read("localTime", Self.localTime).flatMap(LocalTime.init)
        guard sendAt == nil || localTime == nil else {
            throw reader.fault("localTime", "missing if there is sendAt")
        }
        rate = try reader.read("rate", Self.rateForm)
        isDryRun = try reader.read("dryRun", .boolean) ?? false
        countsOpened = try reader.read("countsOpened", .boolean) ?? false
        if let hours = try reader.object("quietHours", keys: ["from", "to"]) {
            quietHours = try QuietHours(hours)
        } else {
            quietHours = nil
        }
        guard quietHours == nil || localTime == nil else {
            throw reader.fault("quietHours", "missing if there is localTime, which says when each recipient gets it")
        }
    }

    /// Reads the texts by language, and the language for recipients whose languages have no texts.
    private static func texts(
        _ reader: DocumentReader,
    ) throws(Problem) -> ([String: [ExactText: TemplateText]], fallback: String) {
        // Without texts it means nothing, but has to be a language all the same.
        let named = try reader.read("fallbackLanguage", fallbackLanguage)
        guard let languages = try reader.object("texts", keys: nil) else { return ([:], "") }
        guard (1...ProviderServerLimits.textLanguages).contains(languages.members.count) else {
            throw reader.fault("texts", "an object of 1 to \(ProviderServerLimits.textLanguages) languages")
        }
        var texts: [String: [ExactText: TemplateText]] = [:]
        for language in languages.members.keys {
            guard InstallationDocument.isLanguage(language),
                let names = try languages.object(language, keys: nil)
            else { throw languages.fault(language, "an object under the tag of a language") }
            for name in names.members.keys {
                guard let text = try names.read(name, .text(.upTo(bytes: Payload.maximumVoIPBytes))) else { continue }
                do throws(TemplateText.Fault) {
                    texts[language, default: [:]][ExactText(name)] = try TemplateText(text)
                } catch {
                    throw .invalid(names.place(name), error.cause)
                }
            }
        }
        let fallback = try reader.required("fallbackLanguage", named)
        guard texts[fallback] != nil else { throw reader.fault("fallbackLanguage", "one of the languages of texts") }
        return (texts, fallback)
    }

    private static func time(_ reader: DocumentReader, isStored: Bool) throws(Problem) -> Timestamp? {
        guard let text = try reader.read("sendAt", .text(.timeText)) else { return nil }
        guard let time = Timestamp(text: text, isStored: isStored) else {
            throw reader.fault("sendAt", "a time with a time zone, such as 2027-01-31T09:00:00Z")
        }
        return time
    }

    /// Returns the time at which sending begins.
    func start(now: Timestamp) throws(Problem) -> Timestamp {
        let latest = now.advanced(by: ProviderServerLimits.schedule)
        let (start, pointer) = (sendAt ?? localTime?.earliest ?? now, sendAt == nil ? "/localTime" : "/sendAt")
        guard start <= latest else { throw .invalid(pointer, "The time has to be within a year from now.") }
        return max(start, now)
    }

    /// Reads the document of a stored message, which was checked before.
    init(stored bytes: [UInt8]) throws(Problem) {
        guard let value = JSONValue(bytes, maximumDepth: APILimits.documentDepth) else {
            throw .invalid("", "The stored message is not JSON.")
        }
        try self.init(value, isStored: true)
    }

    /// Returns a request with the conditions of its saved audience instead of the name.
    static func stored(_ value: JSONValue, with audience: SavedAudience) throws(Problem) -> JSONValue {
        guard
            case .object(var conditions)? = JSONValue(
                audience.document, maximumDepth: APILimits.documentDepth)
        else { throw .invalid("/audience/saved", "The saved audience is not JSON: save it again.") }
        for name in SavedAudienceView.extraKeys { conditions[name] = nil }
        return value.merging(["audience": ["saved": .null]])
            .merging(["audience": ["saved": .object(conditions)]])
    }

    /// Returns the place of the device token that gets the message; nil for the app's own device token.
    /// - Throws: a problem if the message does not say which Live Activity it updates, or names one and is about none.
    func place(of bundleID: String) throws(Problem) -> ServiceTokens.Place? {
        guard channel == nil else { return nil }
        guard let service = headers.service(of: bundleID) else {
            guard activity == nil else {
                throw .invalid("/activity", "Only a message with the push type liveactivity has an activity.")
            }
            return nil
        }
        guard service == PushType.liveActivity.rawValue else { return .service(service) }
        if event == "start" {
            guard activity == nil else {
                throw .invalid("/activity", "A message that starts a Live Activity goes to the token that starts them.")
            }
            return .service(service)
        }
        guard let activity, InstallationDocument.isIdentifier(activity) else {
            throw .invalid(
                "/activity",
                "The key has to name the Live Activity that the message updates or ends, as the app did in activities.")
        }
        return .activity(activity)
    }

    /// Makes the broadcast for the message's channel.
    func broadcast(id: UUID) throws(Problem) -> BroadcastNotification {
        guard let payload = template.shared else {
            throw .invalid(
                "/payload", "A broadcast is the same for everybody, so it cannot name values or count on the icon.")
        }
        guard localTime == nil else {
            throw .invalid("/localTime", "A broadcast goes to all devices at the same time.")
        }
        guard quietHours == nil else {
            throw .invalid("/quietHours", "A broadcast goes to all devices at the same time.")
        }
        guard activity == nil else {
            throw .invalid("/activity", "The channel says which Live Activities are updated.")
        }
        do throws(ProviderError) {
            return try headers.broadcast(payload: payload, id: id)
        } catch {
            throw .invalid("/payload", error.cause)
        }
    }

    /// Whether the Live Activity of a recipient has ended when the notification was accepted.
    var endsActivity: Bool { activity != nil && event == "end" }

    /// Makes the notification for one recipient.
    /// - Throws: ``MissingValue`` if the recipient has no value for a name; ``ProviderError`` if the notification
    ///   breaks a rule.
    /// - Parameter message: the message's identifier, which the payload may have.
    func notification(
        for installation: Installation,
        of bundleID: String,
        id: UUID,
        message: String,
    ) throws -> PushNotification {
        let user = installation.user.flatMap { ownValues[ExactText("user " + $0)] } ?? [:]
        let own = (ownValues[ExactText("installation " + installation.id)] ?? [:]).merging(user)
        return try headers.notification(
            bundleID: bundleID,
            payload: try template.payload(for: installation, own: own, adding: countsOpened ? message : nil), id: id)
    }
}
