package import NIOCore

/// The named bounds of the binary API and of the feedback service, each with the reason for its value.
package struct BinaryLimits: Sendable, Hashable {
    /// How many notifications of a connection may wait for their answers; beyond it nothing more is read until half of
    /// them have one. As many as a connection of the HTTP/2 API may have requests open.
    package var unanswered = 1000

    /// How long a notification may take from its first byte to its last: senders are machines on good lines.
    package var packetTimeout = TimeAmount.seconds(10)

    /// How long a connection may be without a notification. Long, because nothing is ever answered to a good one: what
    /// crosses the end of its connection is lost to a client that does not look for the error packet.
    package var idleTimeout = TimeAmount.hours(24)

    /// How long a connection that the service has ended may take to close: until then what still comes is read and
    /// thrown away, because closing on unread bytes resets the connection, and a reset can overtake the error packet.
    package var lingerTimeout = TimeAmount.seconds(10)

    /// How many entries of a feedback list are read and written at a time: 38 KB.
    package var feedbackPage = 1000

    /// How long a client may take for one page of its feedback list, and then to close the connection.
    package var feedbackTimeout = TimeAmount.seconds(10)

    package init() {}
}
