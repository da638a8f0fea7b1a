import Notifications

/// The keys of a payload that the system uses. A key with a value of the wrong type counts as missing, so that the
/// rest can still be used.
struct PayloadReading: Sendable, Hashable {
    var alert: Alert?
    var badge: Int?
    var sound: NotificationContent.Sound?
    var isContentAvailable = false
    /// Whether the notification shows and plays nothing and only wakes the app (Guide, 2.2.2). The service has the same
    /// rule, ``Notifications/Payload/isSilent``.
    var isSilent = false
    var isMutable = false
    var category: String?
    var threadID: String?
    var targetContentID: String?
    var interruptionLevel: NotificationContent.InterruptionLevel?
    var relevanceScore: Double?
    var filterCriteria: String?

    /// The `alert` dictionary. If the alert is a text, it is the body.
    struct Alert: Sendable, Hashable {
        var title, subtitle, body: String?
        var titleKey, subtitleKey, bodyKey, actionKey: String?
        var titleArguments: [String] = []
        var subtitleArguments: [String] = []
        var bodyArguments: [String] = []
        var launchImage: String?
    }

    init(_ payload: [UInt8]) {
        // If there is no such dictionary, the notification requests nothing.
        guard let known = try? Payload(payload), case .object(let aps)? = JSONValue(payload)?.members["aps"] else {
            return
        }
        isSilent = known.isSilent
        isContentAvailable = known.contents.contains(.contentAvailable)
        alert = aps["alert"].flatMap(Self.alert)
        badge = aps["badge"].flatMap(Self.badge)
        sound = aps["sound"].flatMap(Self.sound)
        isMutable = aps["mutable-content"]?.isOn ?? false
        category = aps["category"]?.string
        threadID = aps["thread-id"]?.string
        targetContentID = aps["target-content-id"]?.string
        interruptionLevel = aps["interruption-level"]?.string.flatMap(NotificationContent.InterruptionLevel.init)
        relevanceScore = aps["relevance-score"]?.double.map { min(max($0, 0), 1) }
        filterCriteria = aps["filter-criteria"]?.string
    }

    init() {}

    private static func alert(_ value: JSONValue) -> Alert? {
        switch value {
        case .string(let text): Alert(body: text)
        case .object(let members): Alert(members)
        default: nil
        }
    }

    private static func badge(_ value: JSONValue) -> Int? {
        value.double.flatMap { Int(exactly: $0.rounded()) }.map { max(0, $0) }
    }

    private static func sound(_ value: JSONValue) -> NotificationContent.Sound? {
        switch value {
        case .string(let name): NotificationContent.Sound(name: name)
        case .object(let members):
            NotificationContent.Sound(
                name: members["name"]?.string ?? NotificationContent.Sound.defaultName,
                isCritical: members["critical"]?.isOn ?? false, volume: min(max(members["volume"]?.double ?? 1, 0), 1))
        default: nil
        }
    }
}

extension PayloadReading.Alert {
    fileprivate init(_ members: JSONMembers) {
        title = members["title"]?.string
        subtitle = members["subtitle"]?.string
        body = members["body"]?.string
        titleKey = members["title-loc-key"]?.string
        subtitleKey = members["subtitle-loc-key"]?.string
        bodyKey = members["loc-key"]?.string
        actionKey = members["action-loc-key"]?.string
        titleArguments = Self.arguments(members["title-loc-args"])
        subtitleArguments = Self.arguments(members["subtitle-loc-args"])
        bodyArguments = Self.arguments(members["loc-args"])
        launchImage = members["launch-image"]?.string
        // In the alert of a Live Activity, an object may be in place of a text.
        if case .object(let text)? = members["title"] {
            (titleKey, titleArguments) = (text["loc-key"]?.string, Self.arguments(text["loc-args"]))
        }
        if case .object(let text)? = members["body"] {
            (bodyKey, bodyArguments) = (text["loc-key"]?.string, Self.arguments(text["loc-args"]))
        }
    }

    /// The arguments as texts. The tables require texts, but providers also send numbers.
    private static func arguments(_ value: JSONValue?) -> [String] {
        (value?.elements ?? []).map { $0.string ?? $0.number?.digits ?? "" }
    }
}
