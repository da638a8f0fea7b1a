/// The kind of a notification, which the provider gives in `apns-push-type`.
package struct PushType: Sendable, Hashable {
    /// The push types that providers may use: the one table of them.
    package enum Known: String, Sendable, Hashable, CaseIterable {
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

        /// The kind of topic that goes with this type; nil for `mdm`, whose topic is the UID of a certificate's
        /// subject.
        var topicKind: TopicKind? {
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

    package let rawValue: String
    /// Nil for a push type of a later release.
    package let known: Known?
    /// The kind of topic that goes with this type; nil for `mdm`, and for a push type of a later release.
    package var topicKind: TopicKind? { known?.topicKind }

    package static let alert = PushType(.alert)
    package static let background = PushType(.background)
    package static let voip = PushType(.voip)
    package static let complication = PushType(.complication)
    package static let fileProvider = PushType(.fileProvider)
    package static let location = PushType(.location)
    package static let liveActivity = PushType(.liveActivity)
    package static let pushToTalk = PushType(.pushToTalk)
    package static let controls = PushType(.controls)
    package static let widgets = PushType(.widgets)
    package static let mdm = PushType(.mdm)

    /// All push types that providers may use.
    package static let all = Known.allCases.map { PushType($0) }

    package init(_ known: Known) {
        rawValue = known.rawValue
        self.known = known
    }

    /// Creates a push type; returns nil if the text is not one of ``all``.
    package init?(rawValue: String) {
        guard let known = Known(rawValue: rawValue) else { return nil }
        self.init(known)
    }

    /// The largest size of a text that is compared, in bytes. The longest push type has 12.
    private static let maximumBytes = 64

    /// Reads a push type that was accepted and stored before. It may come from a later release: after a rollback it is
    /// kept and passed on.
    /// - Returns: nil for text that no release writes.
    package init?(stored text: String) {
        if let known = PushType(rawValue: text) {
            self = known
            return
        }
        guard text.isName(maximumBytes: Self.maximumBytes) else { return nil }
        (rawValue, known) = (text, nil)
    }
}
