import Delivery
import Notifications
import Trust

// `Delivery` records what becomes of the notifications that it gets. The binary API records those that it refuses before.
extension BinaryAPI {
    /// Records a notification that was read and is refused. If a notification cannot be read, there is nothing to record:
    /// neither its device token nor its payload is known then.
    func recordRejected(
        _ notification: BinaryNotification,
        to topic: BinaryTopic,
        id: NotificationID,
        _ reason: Rejection.Reason,
    ) {
        let address: NotificationSubject.Address
        if let contents = rules.open(notification, app: topic.app, topic.kind) {
            let destination = Destination(
                environment: certificates.environment, device: contents.device, app: contents.app)
            address = .destination(destination, generation: contents.number)
        } else {
            address = .deviceToken(notification.deviceToken.array)
        }
        let subject = NotificationSubject(id: id, address: address, topic: topic.name)
        deliveryLog.record(DeliveryEvent(time: delivery.clock.time, step: .rejected(reason), subject: subject))
    }
}

extension BinaryNotification {
    /// The reason of Table 8-6 for a status that ``BinaryRules`` gives this notification.
    func reason(for status: BinaryStatus) -> Rejection.Reason {
        switch status {
        case .missingTopic: .missingTopic
        case .invalidToken: .badDeviceToken
        // The rules give it for the priority of a silent notification, and `strict` for a payload without `aps`.
        default: payload.contents.contains(.aps) ? .badPriority : .payloadEmpty
        }
    }
}
