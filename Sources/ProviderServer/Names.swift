import APNSProvider
import Notifications

// Names that two of our modules have.

/// The JSON of requests and of payloads.
typealias JSONValue = Notifications.JSONValue

/// The device token as a provider knows it: opaque bytes of any length.
typealias DeviceToken = APNSProvider.DeviceToken
