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

    /// What a notification is for, in `apns-push-type`.
    public enum PushType: String, Sendable, Hashable, CaseIterable {
        case alert
        case background
        case voip
        case complication
        case fileProvider = "fileprovider"
        /// Takes a provider token; a certificate does not do.
        case location
        case liveActivity = "liveactivity"
        case pushToTalk = "pushtotalk"
        case controls
        case widgets
        case mdm

        /// The topic that goes with this push type.
        /// - Parameter bundleID: the app's; for ``mdm``, whose topic is the UID of the certificate's subject, that.
        public func topic(for bundleID: String) -> String { bundleID + (topicSuffix ?? "") }

        /// What the topic has after the bundle ID; nil where the topic is no bundle ID.
        var topicSuffix: String? { Notifications.PushType(rawValue: rawValue)?.topicKind?.suffix }

        /// In bytes (Guide, 2.2).
        public var maximumPayloadBytes: Int {
            self == .voip ? Payload.maximumVoIPBytes : Payload.maximumBytes
        }
    }
}
