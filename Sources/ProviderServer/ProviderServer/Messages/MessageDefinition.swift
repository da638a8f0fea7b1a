import APNSProvider
import Foundation
import HTTPAPI
import Notifications
import CampaignStore

/// What a message says that its sender wants: to whom, what, when and how fast.
struct MessageDefinition: Sendable {
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
        let form = isStored ? ProviderMessages.MessageRequest.storedForm : ProviderMessages.MessageRequest.form
        let request = try form.read(value, nullIsMissing: true)
        bundleID = request.bundleID
        let recipients = try AudienceDefinition(request.audience, at: "/audience", isStored: isStored)
        (audience, ownValues, savedAudience) = (recipients.audience, recipients.ownValues, recipients.saved)
        channel = recipients.channel
        let (texts, fallback) = try Self.texts(request)
        template = try PayloadTemplate(
            request.payload, at: "/payload", texts: texts, fallback: fallback,
            defaults: try request.values.map { value throws(Problem) in
                try TemplateValues.read(try DocumentReader(value, at: "/values", keys: nil))
            } ?? [:])
        headers = request.headers
        activity = request.activity
        event = request.payload.members["aps"]?.members["event"]?.string
        sendAt = request.sendAt
        localTime = request.localTime
        guard sendAt == nil || localTime == nil else {
            throw .invalid("/localTime", "The value has to be missing if there is sendAt.")
        }
        rate = request.rate
        isDryRun = request.isDryRun ?? false
        countsOpened = request.countsOpened ?? false
        quietHours = request.quietHours
        try quietHours?.check(at: "/quietHours")
        guard quietHours == nil || localTime == nil else {
            throw .invalid(
                "/quietHours",
                "The value has to be missing if there is localTime, which says when each recipient gets it.")
        }
    }

    /// Reads the texts by language, and the language for recipients whose languages have no texts.
    private static func texts(
        _ request: ProviderMessages.MessageRequest,
    ) throws(Problem) -> ([String: [ExactText: TemplateText]], fallback: String) {
        guard let value = request.texts else { return ([:], "") }
        let languages = try DocumentReader(value, at: "/texts", keys: nil)
        guard (1...ProviderServerLimits.textLanguages).contains(languages.members.count) else {
            throw .invalid(
                "/texts", "The value has to be an object of 1 to \(ProviderServerLimits.textLanguages) languages.")
        }
        var texts: [String: [ExactText: TemplateText]] = [:]
        for language in languages.members.keys {
            guard TextFormat.language.allows(language),
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
        guard let fallback = request.fallbackLanguage else { throw .missing("fallbackLanguage", at: "") }
        guard texts[fallback] != nil else {
            throw .invalid("/fallbackLanguage", "The value has to be one of the languages of texts.")
        }
        return (texts, fallback)
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
        guard let conditions = audience.conditions, case .object = conditions else {
            throw .invalid("/audience/saved", "The saved audience is not JSON: save it again.")
        }
        return value.merging(["audience": ["saved": .null]]).merging(["audience": ["saved": conditions]])
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
        guard let activity else {
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
