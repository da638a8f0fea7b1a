/// Why the binary API refused a notification or ended a connection (Guide, Table A-4).
public struct BinaryErrorCode: Sendable, Hashable, CustomStringConvertible {
    /// As it stands in the error packet.
    public let rawValue: UInt8

    /// Takes any code, those that the Guide does not know as well.
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

    /// The table's own words.
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

    /// The status that the HTTP/2 API has for the same.
    public var httpStatus: Int {
        switch self {
        case .invalidPayloadSize: 413
        case .processingError, .shutdown: 503
        default: 400
        }
    }

    /// The reason that the HTTP/2 API has for the same; the table's own words where it has none.
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

/// What became of one notification.
public enum BinaryOutcome: Sendable, Hashable {
    /// The service took it. Whether the app is still on the device, the feedback service tells.
    case accepted
    /// The service refused it.
    case refused(BinaryErrorCode)
    /// It could not be sent, or nobody knows whether it was taken.
    case failed(ProviderError)
}
