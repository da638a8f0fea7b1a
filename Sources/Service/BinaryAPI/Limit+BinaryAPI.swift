package import Rates

/// The limits of ``BinaryLimits`` that end a connection.
extension Limit {
    package static let binaryPacketTimeout = Limit("binary-packet-timeout")
    package static let binaryIdleTimeout = Limit("binary-idle-timeout")
    package static let binaryLingerTimeout = Limit("binary-linger-timeout")
    package static let feedbackTimeout = Limit("feedback-timeout")

    package static let ofBinaryAPI: [Limit] = [
        .binaryPacketTimeout, .binaryIdleTimeout, .binaryLingerTimeout, .feedbackTimeout,
    ]
}
