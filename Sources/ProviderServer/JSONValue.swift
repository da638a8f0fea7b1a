import Notifications

/// The JSON of requests and of payloads. APNSProvider has a type of this name for its users, which says less.
typealias JSONValue = Notifications.JSONValue
