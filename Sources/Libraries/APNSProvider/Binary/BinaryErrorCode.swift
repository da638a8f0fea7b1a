import Notifications

/// The reason why the binary API refused a notification or ended a connection (Guide, Table A-4).
public struct BinaryErrorCode: Sendable, Hashable, CustomStringConvertible {
    /// The status code of the error packet.
    public let rawValue: UInt8

    /// Creates an error code from any status code, including those that the Guide does not define.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    private init(_ status: BinaryStatus) { rawValue = status.rawValue }

    /// Nil for a status without errors, and for one that the Guide does not define.
    private var row: BinaryStatus.Row? {
        BinaryStatus(rawValue: rawValue).flatMap { $0 == .noErrors ? nil : $0.row }
    }

    public static let processingError = BinaryErrorCode(.processingError)
    public static let missingDeviceToken = BinaryErrorCode(.missingDeviceToken)
    public static let missingTopic = BinaryErrorCode(.missingTopic)
    public static let missingPayload = BinaryErrorCode(.missingPayload)
    public static let invalidTokenSize = BinaryErrorCode(.invalidTokenSize)
    public static let invalidTopicSize = BinaryErrorCode(.invalidTopicSize)
    public static let invalidPayloadSize = BinaryErrorCode(.invalidPayloadSize)
    public static let invalidToken = BinaryErrorCode(.invalidToken)
    public static let shutdown = BinaryErrorCode(.shutdown)
    public static let protocolError = BinaryErrorCode(.protocolError)
    public static let unknown = BinaryErrorCode(.unknown)

    /// The description of the code in Table A-4.
    public var description: String { row?.meaning ?? "Status \(rawValue)" }

    /// The status with which the HTTP/2 API reports the same error.
    public var httpStatus: Int { row?.rejection?.status ?? 400 }

    /// The reason with which the HTTP/2 API reports the same error; the description in Table A-4 if the HTTP/2 API
    /// has none.
    public var reason: String { row?.rejection?.rawValue ?? description }
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
