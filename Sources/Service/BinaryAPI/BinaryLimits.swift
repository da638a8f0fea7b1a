import Connections
package import NIOCore
package import Rates

/// The limits of the binary API and of the feedback service, each with the reason for its value.
package struct BinaryLimits: Sendable, Hashable {
    /// The largest number of a connection's unanswered notifications. When it is reached, the connection stops
    /// reading until half of them are answered. A connection of the HTTP/2 API may have as many open requests.
    package var maximumUnanswered = 1000

    /// How long a notification may take from its first byte to its last. Providers are machines with good
    /// connections.
    package var packetTimeout = TimeAmount.seconds(10)

    /// How long a connection may be without a notification. The time is long, because accepted notifications get no
    /// answer: if the connection ends while a client sends, and the client does not read the error packet,
    /// notifications are lost.
    package var idleTimeout = TimeAmount.hours(24)

    /// How long a client may take to close a connection that the service has ended. Until then, the service reads and
    /// discards what the client still sends. If it closed with unread bytes, the system would send a reset, which can
    /// destroy the error packet.
    package var lingerTimeout = TimeAmount.seconds(10)

    /// How many entries of a feedback list are read from the store and sent at a time. They have 38 KB.
    package var feedbackPage = 1000

    /// How long a client may take for one page of its feedback list, and then to close the connection.
    package var feedbackTimeout = TimeAmount.seconds(10)

    package init() {}

    package static let settings: [LimitSetting<BinaryLimits>] = [
        LimitSetting(
            .binaryPacketTimeout, "seconds for one notification of the binary API", .seconds, \.packetTimeout, .seconds),
        LimitSetting(
            .binaryIdleTimeout, "seconds that a binary connection may be without a notification", .seconds,
            \.idleTimeout,
            .seconds),
    ]
}

/// The limits that end a connection.
extension Limit {
    package static let binaryPacketTimeout = Limit("binary-packet-timeout")
    package static let binaryIdleTimeout = Limit("binary-idle-timeout")
    package static let binaryLingerTimeout = Limit("binary-linger-timeout")
    package static let feedbackTimeout = Limit("feedback-timeout")

    package static let ofBinaryAPI: [Limit] = [
        .binaryPacketTimeout, .binaryIdleTimeout, .binaryLingerTimeout, .feedbackTimeout,
    ]
}
