import Delivery
import Notifications
import Trust

/// Decides whether a notification is valid and which device it reaches.
struct BinaryRules: Sendable {
    let environment: Environment
    let conformance: Conformance
    let tokenKeys: SharedTokenKeys
    /// Device tokens that tests have named; nil outside the development environment.
    var names: NamedTokens?
    /// Whether an app's own device token is only for the app, and each service needs its own.
    var tokensByService = false
    /// Makes what the service does not know; nil if the client may not use it.
    var firstSight: (any FirstSight)?

    /// Finds the destination of a notification, and makes its submission.
    /// - Parameters:
    ///   - topic: the topic of the connection's certificate.
    ///   - id: a new identifier for the notification.
    ///   - ticket: the connection's number for the notification. The answer has the same number.
    func submission(
        _ notification: BinaryNotification,
        to topic: BinaryTopic,
        id: NotificationID,
        ticket: UInt64,
    ) throws(BinaryStatus) -> Submission {
        guard let app = topic.app else { throw .missingTopic }
        guard let contents = open(notification, app: app, topic.kind) ?? contentsAtFirstSight(notification, topic),
            contents.app == app.id,
            contents.isFor(topic.kind, isStrict: tokensByService)
        else { throw .invalidToken }
        guard conformance == .apple || notification.payload.contents.contains(.aps) else { throw .processingError }
        return Submission(
            destination: Destination(environment: environment, device: contents.device, app: contents.app),
            deviceToken: notification.deviceToken,
            generation: contents.number,
            notification: Notification(
                id: id,
                topic: topic.name,
                priority: try priority(of: notification, to: topic.kind),
                expiration: notification.expiration,
                payload: notification.payload,
            ),
            ticket: ticket,
        )
    }

    func open(
        _ notification: BinaryNotification,
        app: App?,
        _ kind: TopicKind = .app,
    ) -> DeviceTokenContents? {
        tokenKeys.open(notification.deviceToken, environment: environment)
            ?? names?.meaning(of: notification.deviceToken.array, app: app?.id, service: kind)?.contents
    }

    /// The contents of a device token that nobody gave out, if the client may use such tokens.
    private func contentsAtFirstSight(
        _ notification: BinaryNotification,
        _ topic: BinaryTopic,
    ) -> DeviceTokenContents? {
        guard let firstSight, let app = topic.app,
            // A token of the other environment is a common mistake.
            tokenKeys.current.open(notification.deviceToken, environment: .production) == nil
        else { return nil }
        return firstSight.contents(
            of: notification.deviceToken.array, app: app.id, service: tokensByService ? topic.kind : .app)
    }

    /// Whether a notification cannot be decided yet, because no known key opens its device token and another node may
    /// have made a key that does.
    func lacksKey(_ notification: BinaryNotification) -> Bool {
        tokenKeys.mayLackKeys && open(notification, app: nil) == nil
    }

    /// The device that a notification's device token names; nil if no known key opens the token.
    func device(of notification: BinaryNotification, _ app: App?) -> DeviceID? {
        open(notification, app: app)?.device ?? firstSight?.device(of: notification.deviceToken.array)
    }

    /// Priority 10 is an error if the payload contains only content-available (Guide, Table A-3). If the provider
    /// gave no priority, such a notification gets priority 5. The older formats cannot give one. This applies to the
    /// app's own topic only: calls and complications are urgent with any payload.
    private func priority(of notification: BinaryNotification, to kind: TopicKind) throws(BinaryStatus) -> Priority {
        guard notification.payload.isSilent, kind == .app else { return notification.priority ?? .immediate }
        switch notification.priority {
        case .immediate: throw .processingError
        case nil where conformance == .strict: throw .processingError
        case let priority: return priority ?? .considerate
        }
    }
}

extension Rejection {
    /// The status for a rejection in the binary API; nil if the notification is not refused. That is so if the app
    /// was removed: its device token is then put on the feedback list (Guide, 3.1.3).
    var binaryStatus: BinaryStatus? {
        switch reason.row.advice {
        case .forgetDeviceToken: reason.status == 410 ? nil : .invalidToken
        case .reconnect: .shutdown
        case .fixRequest, .renewProviderToken, .fixCredentials, .retryLater: .processingError
        }
    }
}
