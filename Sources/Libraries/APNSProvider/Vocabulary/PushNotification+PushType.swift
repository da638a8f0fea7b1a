import Notifications

extension PushNotification {
    /// The kind of a notification, sent as `apns-push-type`.
    public struct PushType: RawRepresentable, Sendable, Hashable, CaseIterable, CustomStringConvertible {
        private let type: Notifications.PushType

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

        /// All push types.
        public static let allCases = Notifications.PushType.all.map { PushType($0) }

        private init(_ type: Notifications.PushType) { self.type = type }

        /// Creates a push type from its header value, such as `alert` or `liveactivity`.
        /// - Returns: nil if no push type has this value.
        public init?(rawValue: String) {
            guard let type = Notifications.PushType(rawValue: rawValue) else { return nil }
            self.type = type
        }

        /// Chooses the push type of a notification whose sender gave none.
        init(topic: String, isSilent: Bool) {
            let ofService = Self.allCases.first { type in
                guard let suffix = type.topicSuffix, !suffix.isEmpty else { return false }
                return topic.hasSuffix(suffix)
            }
            self = ofService ?? (isSilent ? .background : .alert)
        }

        /// The value in the `apns-push-type` header.
        public var rawValue: String { type.rawValue }

        /// The value in the `apns-push-type` header.
        public var description: String { rawValue }

        /// Returns the topic for this push type.
        /// - Parameter bundleID: the app's bundle ID. For ``mdm``, the UID of the certificate's subject, which is
        ///   returned unchanged.
        public func topic(for bundleID: String) -> String { bundleID + (topicSuffix ?? "") }

        /// The part of the topic after the bundle ID; nil if the topic of this push type is not based on a bundle
        /// ID.
        var topicSuffix: String? { type.topicKind?.suffix }

        /// The largest payload of this push type, in bytes (Guide, 2.2).
        public var maximumPayloadBytes: Int { type.topicKind?.maximumPayloadBytes ?? Payload.maximumBytes }
    }
}
