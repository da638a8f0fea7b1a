import Foundation

/// The keys of a payload that the system uses. A key with a value of the wrong type counts as missing, so that the
/// rest can still be used.
struct PayloadReading: Sendable, Hashable {
    var alert: Alert?
    var badge: Int?
    var sound: NotificationContent.Sound?
    var isContentAvailable = false
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

    /// Whether the notification shows and plays nothing and only wakes the app (Guide, 2.2.2).
    var isSilent: Bool { isContentAvailable && alert == nil && sound == nil && badge == nil }

    init(_ payload: [UInt8]) {
        // If there is no such dictionary, the notification requests nothing.
        guard let whole = try? JSONDecoder().decode(Whole.self, from: Data(payload)), let aps = whole.aps else {
            return
        }
        self = aps.reading
    }

    init() {}
}

private struct Whole: Decodable {
    let aps: APS?

    init(from decoder: any Decoder) throws {
        aps = try decoder.container(keyedBy: AnyKey.self).value("aps")
    }
}

private struct APS: Decodable {
    let reading: PayloadReading

    init(from decoder: any Decoder) throws {
        reading = Self.reading(try decoder.container(keyedBy: AnyKey.self))
    }

    private static func reading(_ values: KeyedDecodingContainer<AnyKey>) -> PayloadReading {
        var reading = PayloadReading()
        if let text: String = values.value("alert") {
            reading.alert = PayloadReading.Alert(body: text)
        } else if let alert: AlertValue = values.value("alert") {
            reading.alert = alert.alert
        }
        let badge: Double? = values.value("badge")
        reading.badge = badge.flatMap { Int(exactly: $0.rounded()) }.map { max(0, $0) }
        if let name: String = values.value("sound") {
            reading.sound = NotificationContent.Sound(name: name)
        } else if let sound: SoundValue = values.value("sound") {
            reading.sound = sound.sound
        }
        let available: Double? = values.value("content-available")
        let mutable: Double? = values.value("mutable-content")
        reading.isContentAvailable = available == 1
        reading.isMutable = mutable == 1
        reading.category = values.value("category")
        reading.threadID = values.value("thread-id")
        reading.targetContentID = values.value("target-content-id")
        let level: String? = values.value("interruption-level")
        reading.interruptionLevel = level.flatMap(NotificationContent.InterruptionLevel.init)
        let score: Double? = values.value("relevance-score")
        reading.relevanceScore = score.map { min(max($0, 0), 1) }
        reading.filterCriteria = values.value("filter-criteria")
        return reading
    }
}

private struct AlertValue: Decodable {
    let alert: PayloadReading.Alert

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: AnyKey.self)
        var alert = PayloadReading.Alert()
        alert.title = values.value("title")
        alert.subtitle = values.value("subtitle")
        alert.body = values.value("body")
        alert.titleKey = values.value("title-loc-key")
        alert.subtitleKey = values.value("subtitle-loc-key")
        alert.bodyKey = values.value("loc-key")
        alert.actionKey = values.value("action-loc-key")
        alert.titleArguments = values.arguments("title-loc-args")
        alert.subtitleArguments = values.arguments("subtitle-loc-args")
        alert.bodyArguments = values.arguments("loc-args")
        alert.launchImage = values.value("launch-image")
        self.alert = alert
    }
}

private struct SoundValue: Decodable {
    let sound: NotificationContent.Sound

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: AnyKey.self)
        let critical: Double? = values.value("critical")
        let volume: Double? = values.value("volume")
        sound = NotificationContent.Sound(
            name: values.value("name") ?? "default", isCritical: critical == 1, volume: min(max(volume ?? 1, 0), 1))
    }
}

/// A text, or a number as text: the tables require texts, but providers also send numbers.
private struct Argument: Decodable {
    let text: String

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // Try the types one after the other.
        if let text = try? container.decode(String.self) {
            self.text = text
        } else if let number = try? container.decode(Int64.self) {
            text = String(number)
        } else if let number = try? container.decode(Double.self) {
            text = String(number)
        } else {
            text = ""
        }
    }
}

private struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension KeyedDecodingContainer<AnyKey> {
    /// Returns the value of a key; nil if it is missing or of another type.
    fileprivate func value<Value: Decodable>(_ key: String) -> Value? {
        // The error does not matter, because a value of another type counts as missing.
        try? decodeIfPresent(Value.self, forKey: AnyKey(stringValue: key))
    }

    fileprivate func arguments(_ key: String) -> [String] {
        let arguments: [Argument]? = value(key)
        return arguments?.map(\.text) ?? []
    }
}
