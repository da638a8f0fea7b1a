public import Foundation
import Notifications

extension PushNotification {
    /// How urgent a notification is (Guide, Table 8-2; 1 came later).
    public enum Priority: UInt8, Sendable, Hashable, CaseIterable {
        /// Sent immediately; must trigger an alert, sound or badge.
        case immediate = 10
        /// Sent with regard to the device's power: grouped, in bursts, throttled.
        case considerate = 5
        /// Never wakes the device.
        case low = 1
    }

    /// Until when a notification is worth delivering (Guide, Table 8-2).
    public enum Expiration: Sendable, Hashable {
        /// The service decides.
        case unspecified
        /// One attempt; never stored.
        case immediately
        /// Stored until then. Whole seconds go out; a date before 1970 counts as 1970.
        case at(Date)

        /// What goes out; nil where nothing does.
        var seconds: Int? {
            switch self {
            case .unspecified: nil
            case .immediately: 0
            // 0 would be one attempt, which is not what was asked.
            case .at(let date): max(1, Int(clamping: date.timeIntervalSince1970))
            }
        }
    }
}
