import Notifications

extension PushNotification {
    /// What a notification is for, in `apns-push-type`.
    public struct PushType: RawRepresentable, Sendable, Hashable, CaseIterable, CustomStringConvertible {
        private let type: Notifications.PushType

        /// An alert, a sound or a badge.
        public static let alert = PushType(.alert)
        /// A silent notification (Guide, 2.2.2).
        public static let background = PushType(.background)
        /// A call that comes in.
        public static let voip = PushType(.voip)
        /// New data for a watch's complication.
        public static let complication = PushType(.complication)
        /// A change of files that an app provides.
        public static let fileProvider = PushType(.fileProvider)
        /// A question where the user is. Takes a provider token; a certificate does not do.
        public static let location = PushType(.location)
        /// The start, a new state or the end of a Live Activity.
        public static let liveActivity = PushType(.liveActivity)
        /// Someone talks, or joins or leaves a channel.
        public static let pushToTalk = PushType(.pushToTalk)
        /// New state of an app's controls.
        public static let controls = PushType(.controls)
        /// New data for an app's widgets.
        public static let widgets = PushType(.widgets)
        /// A device is to ask its management server.
        public static let mdm = PushType(.mdm)

        /// All that there are.
        public static let allCases = Notifications.PushType.all.map { PushType($0) }

        private init(_ type: Notifications.PushType) { self.type = type }

        /// Takes it as it stands in the header.
        /// - Returns: nil for one that is not there.
        public init?(rawValue: String) {
            guard let type = Notifications.PushType(rawValue: rawValue) else { return nil }
            self.type = type
        }

        /// What a notification is for that does not say.
        init(topic: String, isSilent: Bool) {
            let ofService = Self.allCases.first { type in
                guard let suffix = type.topicSuffix, !suffix.isEmpty else { return false }
                return topic.hasSuffix(suffix)
            }
            self = ofService ?? (isSilent ? .background : .alert)
        }

        /// As it stands in the header.
        public var rawValue: String { type.rawValue }

        /// As it stands in the header.
        public var description: String { rawValue }

        /// The topic that goes with this push type.
        /// - Parameter bundleID: the app's; for ``mdm``, whose topic is the UID of the certificate's subject, that.
        public func topic(for bundleID: String) -> String { bundleID + (topicSuffix ?? "") }

        /// What the topic has after the bundle ID; nil where the topic is no bundle ID.
        var topicSuffix: String? { type.topicKind?.suffix }

        /// In bytes (Guide, 2.2).
        public var maximumPayloadBytes: Int {
            self == .voip ? Payload.maximumVoIPBytes : Payload.maximumBytes
        }
    }
}
