/// The kind of a notification, sent as `apns-push-type`.
public struct PushType: RawRepresentable, Sendable, Hashable, CaseIterable, CustomStringConvertible {
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

    /// The value in the `apns-push-type` header.
    public let rawValue: String
    /// Nil for a push type of a later release.
    package let known: Known?
    /// The kind of topic that goes with this type; nil for `mdm`, and for a push type of a later release.
    package var topicKind: TopicKind? { known?.topicKind }

    /// An alert, a sound or a badge.
    public static let alert = PushType(.alert)
    /// A silent notification (Guide, 2.2.2).
    public static let background = PushType(.background)
    /// An incoming call.
    public static let voip = PushType(.voip)
    /// New data for a watch's complication.
    public static let complication = PushType(.complication)
    /// A change of the files that an app provides.
    public static let fileProvider = PushType(.fileProvider)
    /// A request for the user's location. It needs a provider token; a certificate is not enough.
    public static let location = PushType(.location)
    /// The start, an update or the end of a Live Activity.
    public static let liveActivity = PushType(.liveActivity)
    /// Someone talks in a channel, joins it or leaves it.
    public static let pushToTalk = PushType(.pushToTalk)
    /// A new state of an app's controls.
    public static let controls = PushType(.controls)
    /// New data for an app's widgets.
    public static let widgets = PushType(.widgets)
    /// A request to a managed device to contact its management server.
    public static let mdm = PushType(.mdm)

    /// A message of Web Push. Providers of APNs' own APIs cannot use it, so it is not ``Known``. It is stored and passed on
    /// like a push type of a later release, which it is to nodes of 0.2.0.
    package static let webPush = PushType(unlisted: "webpush")

    /// All push types that providers may use.
    public static let allCases = Known.allCases.map { PushType($0) }

    package init(_ known: Known) {
        rawValue = known.rawValue
        self.known = known
    }

    private init(unlisted rawValue: String) { (self.rawValue, known) = (rawValue, nil) }

    /// Creates a push type from its header value, such as `alert` or `liveactivity`.
    /// - Returns: nil if no push type has this value.
    public init?(rawValue: String) {
        guard let known = Known(rawValue: rawValue) else { return nil }
        self.init(known)
    }

    /// The value in the `apns-push-type` header.
    public var description: String { rawValue }

    /// Returns the topic for this push type.
    /// - Parameter bundleID: the app's bundle ID. For ``mdm``, the UID of the certificate's subject, which is returned
    ///   unchanged.
    public func topic(for bundleID: String) -> String { bundleID + (topicKind?.suffix ?? "") }

    /// The largest payload of this push type, in bytes (Guide, 2.2).
    public var maximumPayloadBytes: Int { topicKind?.maximumPayloadBytes ?? Payload.maximumBytes }

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
