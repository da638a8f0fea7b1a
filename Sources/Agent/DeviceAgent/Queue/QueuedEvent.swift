import Notifications

/// An event that an app has not handled.
package struct QueuedEvent: Sendable, Hashable {
    /// Its number. Numbers of one agent grow, and none is used twice.
    package let delivery: Int64
    /// The event as JSON on one line, without the number.
    package let text: [UInt8]
    /// How often a command was tried for it.
    package let attempts: Int

    /// The line of the app's stream.
    var line: [UInt8] {
        Array(#"{"delivery":\#(delivery),"#.utf8) + text.dropFirst() + [UInt8(ascii: "\n")]
    }
}
