import Notifications

/// A service of an app beside its own notifications, or of the system: its pushes are no notifications for the user, and
/// each reaches the app by a method of its own.
public enum PushService: String, Sendable, Hashable, CaseIterable {
    /// A call comes in: topic suffix `.voip`.
    case voip
    /// New data for a watch's complication: `.complication`.
    case complication
    /// A change of files that the app provides: `.pushkit.fileprovider`.
    case fileProvider = "fileprovider"
    /// A question where the user is: `.location-query`.
    case location
    /// The start, a new state or the end of a Live Activity: `.push-type.liveactivity`.
    case liveActivity = "liveactivity"
    /// Someone talks, or joins or leaves a channel: `.voip-ptt`.
    case pushToTalk = "pushtotalk"
    /// New state of the app's controls: `.push-type.controls`.
    case controls
    /// New data for the app's widgets: `.push-type.widgets`.
    case widgets
    /// A device is to ask its management server. The topic is the UID of a certificate.
    case mdm

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
    /// Which service of its app it is for; nil for a notification of the app itself.
    public var service: PushService? {
        // The app's topic is its bundle ID; a service's has a suffix after it.
        let kind = TopicKind.allCases.first { topic == bundleID + $0.suffix }
        if let service = kind.flatMap({ PushService($0) }) { return service }
        // Device management has no suffix, and its push type may be missing.
        let object = JSONObject(payload)
        let isManagement = pushType == PushType.mdm.rawValue || object?[raw: "mdm"] != nil && object?[raw: "aps"] == nil
        return isManagement ? .mdm : nil
    }
}
