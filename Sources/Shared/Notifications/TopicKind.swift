/// The kind of a topic: that of the app itself, which is the bundle ID, or that of a service of the app, which is the
/// bundle ID with a suffix.
package enum TopicKind: Sendable, Hashable, CaseIterable {
    case app
    case voip
    case complication
    case fileProvider
    case location
    case liveActivity
    case pushToTalk
    case controls
    case widgets

    /// The suffix after the bundle ID.
    package var suffix: String {
        switch self {
        case .app: ""
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileProvider: ".pushkit.fileprovider"
        case .location: ".location-query"
        case .liveActivity: ".push-type.liveactivity"
        case .pushToTalk: ".voip-ptt"
        case .controls: ".push-type.controls"
        case .widgets: ".push-type.widgets"
        }
    }

    /// The kind of the topic that a provider certificate lists if it is good for topics of this kind, and the name under
    /// which it lists it (Guide, 2.3.2); nil if no certificate of this service is good for them.
    package var certificateEntry: (listed: TopicKind, name: String)? {
        switch self {
        case .app: (.app, "app")
        // Push to Talk came after the Guide, and needs no provider token (docs/current-apns.md). Its topic ends with
        // `.voip-ptt`, so it goes with the topic for VoIP.
        case .voip, .pushToTalk: (.voip, "voip")
        case .complication: (.complication, "complication")
        case .fileProvider, .location, .liveActivity, .controls, .widgets: nil
        }
    }

    /// The largest payload, in bytes (Guide, 2.2).
    package var maximumPayloadBytes: Int { self == .voip ? Payload.maximumVoIPBytes : Payload.maximumBytes }

    /// The kind of a topic that no app has, by its end.
    package static func ofUnknown(topic: String) -> TopicKind {
        allCases.first { kind in
            kind != .app && topic.hasSuffix(kind.suffix)
                && BundleID(rawValue: String(topic.dropLast(kind.suffix.count))) != nil
        } ?? .app
    }

    /// Whether a topic ends like that of a service. It may still be the bundle ID of an app; only the accounts know
    /// that.
    package static func isOfService(_ topic: String) -> Bool {
        allCases.contains { $0 != .app && topic.hasSuffix($0.suffix) }
    }
}
