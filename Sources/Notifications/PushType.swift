/// What a provider says its notification is for, in `apns-push-type`.
package enum PushType: String, Sendable, Hashable, CaseIterable {
    case alert
    case background
    case voip
    case complication
    case fileProvider = "fileprovider"
    case location
    case liveActivity = "liveactivity"
    case pushToTalk = "pushtotalk"
    case controls
    case widgets
    case mdm

    /// The kind of topic that goes with this type; nil for `mdm`, whose topic is the UID of a certificate's subject.
    package var topicKind: TopicKind? {
        switch self {
        case .alert, .background: .app
        case .voip: .voip
        case .complication: .complication
        case .fileProvider: .fileProvider
        case .location: .location
        case .liveActivity: .liveActivity
        case .pushToTalk: .pushToTalk
        case .controls: .controls
        case .widgets: .widgets
        case .mdm: nil
        }
    }
}
