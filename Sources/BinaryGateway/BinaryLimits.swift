package import NIOCore

/// The limits of the binary API and of the feedback service, each with the reason for its value.
package struct BinaryLimits: Sendable, Hashable {
    /// The largest number of a connection's unanswered notifications. At this number the connection stops reading until
    /// half of them are answered. It is the same as the number of open requests on a connection of the HTTP/2 API.
    package var unanswered = 1000

    /// The time that a notification may take from its first byte to its last. Senders are machines with good
    /// connections.
    package var packetTimeout = TimeAmount.seconds(10)

    /// The time that a connection may be without a notification. It is long, because accepted notifications get no
    /// answer: if the connection ends while a client sends, a client that does not read the error packet loses
    /// notifications.
    package var idleTimeout = TimeAmount.hours(24)

    /// The time that a connection may take to close after the service has ended it. Until then the service reads and
    /// discards what still comes. If it closed with unread bytes, the system would send a reset, which can destroy the
    /// error packet.
    package var lingerTimeout = TimeAmount.seconds(10)

    /// The number of entries of a feedback list that are read and written at a time: 38 KB.
    package var feedbackPage = 1000

    /// How long a client may take for one page of its feedback list, and then to close the connection.
    package var feedbackTimeout = TimeAmount.seconds(10)

    package init() {}
}
