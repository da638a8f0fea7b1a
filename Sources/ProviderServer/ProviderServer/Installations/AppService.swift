import Notifications

/// The services of an app whose notifications go to device tokens of their own.
enum AppService {
    /// The names of the services: those of the push types whose topic is not the bundle ID.
    static let names = PushType.allCases.filter(\.isOfService).map(\.rawValue)

    /// Returns the service that gets a message; nil for the app itself.
    /// - Parameter pushType: nil if the message says none. Its topic then says what it is.
    static func name(pushType: String?, topic: String?, bundleID: String) -> String? {
        if let pushType { return names.contains(pushType) ? pushType : nil }
        guard let topic, topic != bundleID else { return nil }
        return PushType.allCases.first { $0.isOfService && topic == $0.topic(for: bundleID) }?.rawValue
    }
}

extension PushType {
    fileprivate var isOfService: Bool { topicKind.map { $0 != .app } ?? false }
}
