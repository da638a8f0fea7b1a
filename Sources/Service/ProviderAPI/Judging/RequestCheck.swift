package import Notifications

/// The checks of a notification to one device, in their order: if several things are wrong with a request, the first check
/// that fails decides which reason the provider gets. docs/provider-api.md promises the order, and `DocumentsTests` compares
/// the two. ``RequestRules`` makes the checks.
package enum RequestCheck: String, Sendable, CaseIterable {
    case method
    case path
    case repeatedHeaders = "repeated headers"

    case sender

    case encoding
    case id = "apns-id"
    case expiration = "apns-expiration"
    case priority = "apns-priority"
    case collapseID = "apns-collapse-id"
    case pushType = "apns-push-type"

    case topic = "apns-topic"
    case app = "app of the topic"
    case topicForPushType = "topic for the push type"

    case deviceToken = "device token"
    case appOfDeviceToken = "app of the device token"
    case serviceOfDeviceToken = "service of the device token"

    case size
    case activity = "Live Activity"
    case payload
    case priorityForPayload = "priority for the payload"

    /// What the checks are about, as the document groups them.
    package enum Step: String, Sendable, CaseIterable {
        case shape = "The shape of the request"
        case sender = "The sender"
        case headers = "The headers"
        case topic = "The topic"
        case deviceToken = "The device token"
        case payload = "The payload"
    }

    package var step: Step {
        switch self {
        case .method, .path, .repeatedHeaders: .shape
        case .sender: .sender
        case .encoding, .id, .expiration, .priority, .collapseID, .pushType: .headers
        case .topic, .app, .topicForPushType: .topic
        case .deviceToken, .appOfDeviceToken, .serviceOfDeviceToken: .deviceToken
        case .size, .activity, .payload, .priorityForPayload: .payload
        }
    }

    /// The reasons that the check gives.
    package var reasons: Set<Rejection.Reason> {
        switch self {
        case .method: [.methodNotAllowed]
        case .path: [.badPath, .missingDeviceToken]
        case .repeatedHeaders: [.duplicateHeaders]
        case .sender:
            [
                .serviceUnavailable, .badCertificate, .badCertificateEnvironment, .missingProviderToken,
                .invalidProviderToken, .badEnvironmentKeyIDInToken, .badEnvironmentKeyInToken, .expiredProviderToken,
                .unrelatedKeyIDInToken, .tooManyProviderTokenUpdates,
            ]
        case .encoding: [.forbidden]
        case .id: [.badMessageID]
        case .expiration: [.badExpirationDate]
        case .priority: [.badPriority]
        case .collapseID: [.badCollapseID]
        case .pushType: [.invalidPushType]
        case .topic: [.missingTopic, .badTopic]
        case .app: [.topicDisallowed, .forbidden]
        case .topicForPushType: [.topicDisallowed]
        case .deviceToken: [.badDeviceToken]
        case .appOfDeviceToken, .serviceOfDeviceToken: [.deviceTokenNotForTopic]
        case .size: [.payloadTooLarge]
        case .activity: [.expiredToken]
        case .payload: [.payloadEmpty]
        case .priorityForPayload: [.badPriority]
        }
    }

    // MARK: The parts of the list

    /// Whether it is a request of the API at all. Nothing that comes after these checks happens to other requests.
    static let ofShape = of(.shape)
    static let ofSender = of(.sender)
    /// What an upstream can judge as well as this service.
    static let ofForm = of(.headers, .topic)
    static let ofDeviceToken = of(.deviceToken)
    /// All that need no body.
    static let ofHeaders = of(.shape, .sender, .headers, .topic, .deviceToken)
    static let ofPayload = of(.payload)

    private static func of(_ steps: Step...) -> [RequestCheck] { allCases.filter { steps.contains($0.step) } }
}
