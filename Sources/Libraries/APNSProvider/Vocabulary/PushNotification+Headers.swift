public import Foundation

extension PushNotification {
    /// The urgency of a notification.
    public typealias Priority = PushPriority

    /// The time until which the service keeps a notification for a device that is offline (Guide, Table 8-2).
    public enum Expiration: Sendable, Hashable {
        /// The service decides how long it keeps the notification.
        case unspecified
        /// The service tries once and never stores the notification.
        case immediately
        /// The service stores the notification until this date, sent in whole seconds. A date before 1970 counts as
        /// 1970.
        case at(Date)

        /// The value of `apns-expiration`, in seconds since 1970; nil if the header is not sent.
        var seconds: Int? {
            switch self {
            case .unspecified: nil
            case .immediately: 0
            // 0 would mean a single attempt, which the caller did not ask for.
            case .at(let date): max(1, Int(clamping: date.timeIntervalSince1970))
            }
        }
    }
}
