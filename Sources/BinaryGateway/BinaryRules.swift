import Delivery
import Notifications
import Trust

/// Which notifications are good: what they say, and whom they reach.
struct BinaryRules: Sendable {
    let environment: Environment
    let conformance: Conformance
    let tokenKeys: SharedTokenKeys
    /// Device tokens that tests have named; nil outside the development environment.
    var names: NamedTokens?

    /// Addresses a notification.
    /// - Parameters:
    ///   - topic: the connection's.
    ///   - id: a new one.
    ///   - ticket: what the connection will know the answer by.
    func submission(
        _ notification: BinaryNotification,
        to topic: BinaryTopic,
        id: NotificationID,
        ticket: UInt64,
    ) throws(BinaryStatus) -> Submission {
        guard let app = topic.app else { throw .missingTopic }
        guard let contents = open(notification, app: app), contents.app == app.id else { throw .invalidToken }
        guard conformance == .apple || notification.payload.contents.contains(.aps) else { throw .processingError }
        return Submission(
            destination: Destination(environment: environment, device: contents.device, app: contents.app),
            deviceToken: notification.deviceToken,
            generation: contents.generation,
            notification: Notification(
                id: id,
                topic: topic.name,
                priority: try priority(of: notification),
                expiration: notification.expiration,
                payload: notification.payload,
            ),
            ticket: ticket,
        )
    }

    private func open(_ notification: BinaryNotification, app: App?) -> DeviceTokenContents? {
        tokenKeys.open(notification.deviceToken, environment: environment)
            ?? names?.meaning(of: notification.deviceToken.array, app: app?.id)?.contents
    }

    /// Whether nothing can be said of a notification yet: no known key opens its device token, and another node may have
    /// made one that does.
    func lacksKey(_ notification: BinaryNotification) -> Bool {
        tokenKeys.mayLackKeys && open(notification, app: nil) == nil
    }

    /// The device that a notification's token names; nil if no known key opens it.
    func device(of notification: BinaryNotification, _ app: App?) -> DeviceID? { open(notification, app: app)?.device }

    /// It is an error to use priority 10 for what contains only content-available (Guide, Table A-3). Where the provider
    /// did not say, and the older formats cannot, the service takes such a notification as 5.
    private func priority(of notification: BinaryNotification) throws(BinaryStatus) -> Priority {
        guard notification.payload.isSilent else { return notification.priority ?? .immediate }
        switch notification.priority {
        case .immediate: throw .processingError
        case nil where conformance == .strict: throw .processingError
        case let priority: return priority ?? .considerate
        }
    }
}

extension Rejection {
    /// What the binary API says; nil where it says nothing. To an app that is gone a notification is not refused: its
    /// device token goes on the feedback list (Guide, 3.1.3).
    var binaryStatus: BinaryStatus? {
        switch reason {
        case .unregistered, .expiredToken: nil
        case .badDeviceToken, .deviceTokenNotForTopic: .invalidToken
        case .shutdown: .shutdown
        default: .processingError
        }
    }
}
