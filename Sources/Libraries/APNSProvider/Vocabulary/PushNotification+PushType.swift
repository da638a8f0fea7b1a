import Notifications

extension PushNotification {
    /// The kind of a notification, sent as `apns-push-type`.
    public typealias PushType = Notifications.PushType
}

extension PushType {
    /// Chooses the push type of a notification whose sender gave none.
    init(topic: String, isSilent: Bool) {
        let ofService = Self.allCases.first { type in
            guard let suffix = type.topicKind?.suffix, !suffix.isEmpty else { return false }
            return topic.hasSuffix(suffix)
        }
        self = ofService ?? (isSilent ? .background : .alert)
    }
}
