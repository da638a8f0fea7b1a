/// The reason why the binary API refused a notification or ended a connection (Guide, Table A-4).
public struct BinaryErrorCode: Sendable, Hashable, CustomStringConvertible {
    /// The status code of the error packet.
    public let rawValue: UInt8

    /// Creates an error code from any status code, including those that the Guide does not define.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let processingError = BinaryErrorCode(rawValue: 1)
    public static let missingDeviceToken = BinaryErrorCode(rawValue: 2)
    public static let missingTopic = BinaryErrorCode(rawValue: 3)
    public static let missingPayload = BinaryErrorCode(rawValue: 4)
    public static let invalidTokenSize = BinaryErrorCode(rawValue: 5)
    public static let invalidTopicSize = BinaryErrorCode(rawValue: 6)
    public static let invalidPayloadSize = BinaryErrorCode(rawValue: 7)
    public static let invalidToken = BinaryErrorCode(rawValue: 8)
    public static let shutdown = BinaryErrorCode(rawValue: 10)
    public static let protocolError = BinaryErrorCode(rawValue: 128)
    public static let unknown = BinaryErrorCode(rawValue: 255)

    /// The description of the code in Table A-4.
    public var description: String {
        switch self {
        case .processingError: "Processing error"
        case .missingDeviceToken: "Missing device token"
        case .missingTopic: "Missing topic"
        case .missingPayload: "Missing payload"
        case .invalidTokenSize: "Invalid token size"
        case .invalidTopicSize: "Invalid topic size"
        case .invalidPayloadSize: "Invalid payload size"
        case .invalidToken: "Invalid token"
        case .shutdown: "Shutdown"
        case .protocolError: "Protocol error"
        case .unknown: "None (unknown)"
        default: "Status \(rawValue)"
        }
    }

    /// The status with which the HTTP/2 API reports the same error.
    public var httpStatus: Int {
        switch self {
        case .invalidPayloadSize: 413
        case .processingError, .shutdown: 503
        default: 400
        }
    }

    /// The reason with which the HTTP/2 API reports the same error; the description in Table A-4 if the HTTP/2 API
    /// has none.
    public var reason: String {
        switch self {
        case .processingError: "ServiceUnavailable"
        case .missingDeviceToken: "MissingDeviceToken"
        case .missingTopic: "MissingTopic"
        case .missingPayload: "PayloadEmpty"
        case .invalidTokenSize, .invalidToken: "BadDeviceToken"
        case .invalidTopicSize: "BadTopic"
        case .invalidPayloadSize: "PayloadTooLarge"
        case .shutdown: "Shutdown"
        default: description
        }
    }
}

/// The outcome of one notification.
public enum BinaryOutcome: Sendable, Hashable {
    /// The service accepted the notification. Read the feedback service to learn whether the app is still on the
    /// device.
    case accepted
    /// The service refused the notification.
    case refused(BinaryErrorCode)
    /// The notification could not be sent, or it is unknown whether the service accepted it.
    case failed(ProviderError)
}
