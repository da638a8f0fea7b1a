import APNSProvider
import Notifications

// Two of the imported modules have types with these names, so this file selects one of each.

/// The JSON of requests and of payloads.
typealias JSONValue = Notifications.JSONValue

/// The device token as a provider knows it: opaque bytes of any length.
typealias DeviceToken = APNSProvider.DeviceToken
