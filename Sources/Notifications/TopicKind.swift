/// What a topic reaches: the app itself, or a service of it whose topic is the bundle ID and a suffix.
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

    /// What follows the bundle ID in the topic.
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

    /// Whether a topic looks like one of an app's services. Only the accounts know an app whose bundle ID ends like that.
    package static func isOfService(_ topic: String) -> Bool {
        allCases.contains { $0 != .app && topic.hasSuffix($0.suffix) }
    }
}
