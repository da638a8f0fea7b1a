import Foundation

extension APS {
    /// Encodes the dictionary without white space. The keys have a fixed order, so equal dictionaries give equal
    /// bytes.
    func json() throws(ProviderError) -> [UInt8] {
        var writer = JSONWriter()
        writer.open()
        if let alert {
            writer.key("alert")
            if alert.isBodyAlone, let body = alert.body { writer.string(body) } else { try alert.write(to: &writer) }
        }
        if let badge { writer.field("badge", badge) }
        if let sound { sound.write(to: &writer) }
        writer.field("thread-id", threadID)
        writer.field("category", category)
        if contentAvailable { writer.field("content-available", 1) }
        if mutableContent { writer.field("mutable-content", 1) }
        writer.field("target-content-id", targetContentID)
        writer.field("interruption-level", interruptionLevel?.rawValue)
        if let relevanceScore { writer.field("relevance-score", relevanceScore) }
        writer.field("filter-criteria", filterCriteria)
        if contentChanged { writer.raw("content-changed", Array("true".utf8)) }
        try liveActivity?.write(to: &writer)
        try writer.fields(other, besides: Self.keys, of: "the aps dictionary")
        writer.close()
        return writer.bytes
    }

    /// The keys that properties write (Guide, Table 9-1, and those that came later).
    static let keys: Set<String> = [
        "alert", "badge", "sound", "thread-id", "category", "content-available", "mutable-content",
        "target-content-id", "interruption-level", "relevance-score", "filter-criteria", "timestamp", "event",
        "content-state", "stale-date", "dismissal-date", "attributes-type", "attributes",
        "content-changed", "input-push-token", "input-push-channel",
    ]
}

extension APS.Alert {
    /// The keys that properties write (Guide, Table 9-2, and those that came later).
    static let keys: Set<String> = [
        "title", "subtitle", "body", "launch-image", "title-loc-key", "title-loc-args", "subtitle-loc-key",
        "subtitle-loc-args", "loc-key", "loc-args", "action-loc-key",
    ]

    fileprivate func write(to writer: inout JSONWriter) throws(ProviderError) {
        writer.open()
        writer.field("title", title)
        writer.field("subtitle", subtitle)
        writer.field("body", body)
        writer.field("launch-image", launchImage)
        writer.field("title-loc-key", titleLocKey)
        writer.field("title-loc-args", titleLocArgs)
        writer.field("subtitle-loc-key", subtitleLocKey)
        writer.field("subtitle-loc-args", subtitleLocArgs)
        writer.field("loc-key", locKey)
        writer.field("loc-args", locArgs)
        writer.field("action-loc-key", actionLocKey)
        try writer.fields(other, besides: Self.keys, of: "the alert")
        writer.close()
    }
}

extension APS.Sound {
    fileprivate func write(to writer: inout JSONWriter) {
        guard isCritical else { return writer.field("sound", name) }
        writer.key("sound")
        writer.open()
        writer.field("critical", 1)
        writer.field("name", name)
        if let volume { writer.field("volume", volume) }
        writer.close()
    }
}

extension APS.LiveActivity {
    fileprivate func write(to writer: inout JSONWriter) throws(ProviderError) {
        writer.field("timestamp", Self.seconds(timestamp))
        writer.field("event", event.rawValue)
        if let contentState { writer.raw("content-state", try PushPayload.encode(contentState)) }
        if let staleDate { writer.field("stale-date", Self.seconds(staleDate)) }
        if let dismissalDate { writer.field("dismissal-date", Self.seconds(dismissalDate)) }
        writer.field("attributes-type", attributesType)
        if let attributes { writer.raw("attributes", try PushPayload.encode(attributes)) }
        switch updates {
        case .token: writer.field("input-push-token", 1)
        case .channel(let id): writer.field("input-push-channel", id)
        case nil: break
        }
    }

    private static func seconds(_ date: Date) -> Int {
        Int(clamping: date.timeIntervalSince1970)
    }
}

extension Int {
    /// Rounds the number down. If the result does not fit into an `Int`, takes the nearest `Int`.
    init(clamping number: Double) {
        self = Int(exactly: number.rounded(.down)) ?? (number > 0 ? .max : .min)
    }
}
