import Notifications

/// A service of an app or of the system. Its pushes are not notifications for the user; each service has its own
/// method in ``App``.
public enum PushService: String, Sendable, Hashable, CaseIterable {
    /// An incoming call: topic suffix `.voip`.
    case voip
    /// New data for a watch's complication: `.complication`.
    case complication
    /// A change of the files that the app provides: `.pushkit.fileprovider`.
    case fileProvider = "fileprovider"
    /// A request for the user's location: `.location-query`.
    case location
    /// The start, an update or the end of a Live Activity: `.push-type.liveactivity`.
    case liveActivity = "liveactivity"
    /// Someone talks in a channel, joins it or leaves it: `.voip-ptt`.
    case pushToTalk = "pushtotalk"
    /// A new state of the app's controls: `.push-type.controls`.
    case controls
    /// New data for the app's widgets: `.push-type.widgets`.
    case widgets
    /// A request to contact the management server. The topic is the UID of a certificate.
    case mdm

    /// The services that have a device token of their own; see ``Device/register(_:for:)``.
    public static let withTokens = allCases.filter { $0 != .mdm }

    init?(_ kind: TopicKind) {
        switch kind {
        case .app: return nil
        case .voip: self = .voip
        case .complication: self = .complication
        case .fileProvider: self = .fileProvider
        case .location: self = .location
        case .liveActivity: self = .liveActivity
        case .pushToTalk: self = .pushToTalk
        case .controls: self = .controls
        case .widgets: self = .widgets
        }
    }
}

extension ReceivedNotification {
    /// The service that the push is for; nil for a notification of the app itself.
    public var service: PushService? {
        // An app's topic is its bundle ID. A service's topic has a suffix after it.
        let kind = TopicKind.allCases.first { topic == bundleID + $0.suffix }
        if let service = kind.flatMap({ PushService($0) }) { return service }
        // Device management has no suffix, and the push type may be missing.
        let object = JSONObject(payload, .ofPayload)
        let isManagement = pushType == PushType.mdm.rawValue || object?[raw: "mdm"] != nil && object?[raw: "aps"] == nil
        return isManagement ? .mdm : nil
    }
}
