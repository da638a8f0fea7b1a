import Delivery
import Notifications
import Trust

/// A notification to a device of this service: the destination that the fields name, after all checks that need no body.
struct DevicePush {
    var destination: Destination
    var generation: UInt32
    var topic: AddressedTopic
    /// The request's device token. If its length is not that of the service's own tokens, the service's token for the
    /// same destination.
    var deviceToken: DeviceToken
    /// The Live Activity that the device token is for.
    var activity: DeviceTokenContents.Activity?

    /// Which Live Activities the request may change; nil if its device token is not one of Live Activities.
    var target: ActivityTarget? {
        if let activity { return .one(activity.id) }
        return TokenNumber.isFor(.liveActivity, generation) ? .start : nil
    }
}
