package import Notifications

/// Hummingbird has a type of this name too.
package typealias Environment = Notifications.Environment
