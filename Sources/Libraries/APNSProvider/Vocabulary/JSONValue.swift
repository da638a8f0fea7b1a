// The type of the service is the type of the library: a value goes from one to the other without a copy.
@_exported public import enum Notifications.JSONValue
