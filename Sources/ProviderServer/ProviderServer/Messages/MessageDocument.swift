import APNSProvider
import Foundation
import HTTPAPI
import Notifications
import CampaignStore

/// A message as its sender describes it.
struct MessageDocument: Sendable {
    static let keys = [
        "bundleID", "audience", "payload", "texts", "fallbackLanguage", "values", "pushType", "topic", "priority",
        "expiration", "collapseID", "sendAt", "localTime", "rate", "dryRun",
    ]

    let bundleID: String?
    let audience: Audience
    /// Values for single users or installations, by name. They come before the installation's own values.
    let ownValues: [String: [String: JSONValue]]
    /// The saved audience that the request names; nil if it names none, or for a stored message.
    let savedAudience: String?
    let template: PayloadTemplate
    let headers: MessageHeaders
    let sendAt: Timestamp?
    /// The time of day at which each recipient gets the message in their own time zone.
    let localTime: LocalTime?
    let rate: Int64?
    let isDryRun: Bool

    /// - Parameter isStored: whether the conditions of a saved audience replace its name; see ``stored(_:with:)``.
    init(_ value: JSONValue, isStored: Bool = false) throws(Problem) {
        let reader = try DocumentReader(value, at: "", keys: Self.keys)
        bundleID = try reader.line("bundleID", maximum: 200)
        let recipients = try AudienceReader.read(
            try reader.required("audience", reader.members["audience"]), isStored ? .stored : .message)
        (audience, ownValues, savedAudience) = (recipients.audience, recipients.ownValues, recipients.saved)
        let (texts, fallback) = try Self.texts(reader)
        template = try PayloadTemplate(
            try reader.required("payload", reader.members["payload"]), at: "/payload", texts: texts,
            fallback: fallback, defaults: try TemplateValues.read("values", reader) ?? [:])
        headers = try MessageHeaders(reader)
        sendAt = try Self.time(reader)
        localTime = try reader.text("localTime", maximum: 40).map { (text) throws(Problem) in
            guard let time = LocalTime(text) else {
                throw reader.fault("localTime", "a date and time without a time zone, such as 2027-01-31T09:00")
            }
            return time
        }
        guard sendAt == nil || localTime == nil else {
            throw reader.fault("localTime", "missing if there is sendAt")
        }
        rate = try reader.integer("rate", 1...ProviderServerLimits.rate)
        isDryRun = try reader.boolean("dryRun") ?? false
    }

    /// Reads the texts by language, and the language for recipients whose languages have no texts.
    private static func texts(
        _ reader: DocumentReader,
    ) throws(Problem) -> ([String: [String: TemplateText]], fallback: String) {
        guard let languages = try reader.object("texts", keys: nil) else { return ([:], "") }
        guard (1...ProviderServerLimits.textLanguages).contains(languages.members.count) else {
            throw reader.fault("texts", "an object of 1 to \(ProviderServerLimits.textLanguages) languages")
        }
        var texts: [String: [String: TemplateText]] = [:]
        for language in languages.members.keys.sorted() {
            guard InstallationDocument.isLanguage(language),
                let names = try languages.object(language, keys: nil)
            else { throw languages.fault(language, "an object under the tag of a language") }
            for name in names.members.keys.sorted() {
                guard let text = try names.text(name, maximum: Payload.maximumVoIPBytes) else { continue }
                do throws(TemplateText.Fault) {
                    texts[language, default: [:]][name] = try TemplateText(text)
                } catch {
                    throw .invalid(names.place(name), error.cause)
                }
            }
        }
        let fallback = try reader.required(
            "fallbackLanguage", try reader.line("fallbackLanguage", maximum: ProviderServerLimits.languageBytes))
        guard texts[fallback] != nil else { throw reader.fault("fallbackLanguage", "one of the languages of texts") }
        return (texts, fallback)
    }

    private static func time(_ reader: DocumentReader) throws(Problem) -> Timestamp? {
        guard let text = try reader.text("sendAt", maximum: 40) else { return nil }
        guard let time = Timestamp(text: text) else {
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

    /// Makes the notification for one recipient.
    /// - Throws: ``MissingValue`` if the recipient has no value for a name; ``ProviderError`` if the notification
    ///   breaks a rule.
    func notification(for installation: Installation, of bundleID: String, id: UUID) throws -> PushNotification {
        let user = installation.user.flatMap { ownValues["user " + $0] } ?? [:]
        let own = user.merging(ownValues["installation " + installation.id] ?? [:]) { user, _ in user }
        return try headers.notification(
            bundleID: bundleID, payload: try template.payload(for: installation, own: own), id: id)
    }
}
