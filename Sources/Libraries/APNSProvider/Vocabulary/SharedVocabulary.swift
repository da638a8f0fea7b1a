// These types of the service are types of the library: a value goes from one to the other without a copy.
@_exported public import struct Notifications.JSONMembers
@_exported public import struct Notifications.JSONNumber
@_exported public import enum Notifications.JSONValue
@_exported public import enum Notifications.PushPriority
@_exported public import enum Notifications.RejectionAdvice
@_exported public import struct Notifications.PushType
