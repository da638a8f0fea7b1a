/// The statuses of an error packet of the binary API (Guide, Table A-4). docs/binary-api.md says which of them this
/// service sends.
package enum BinaryStatus: UInt8, Error, Sendable, Hashable, CaseIterable {
    case noErrors = 0
    case processingError = 1
    case missingDeviceToken = 2
    case missingTopic = 3
    case missingPayload = 4
    case invalidTokenSize = 5
    case invalidTopicSize = 6
    case invalidPayloadSize = 7
    case invalidToken = 8
    case shutdown = 10
    case protocolError = 128
    case unknown = 255

    /// The statuses that name a fault.
    package static let faults = allCases.filter { $0 != .noErrors }

    /// The reason in the journal.
    package var reason: String {
        switch self {
        case .noErrors: "NoErrors"
        case .processingError: "ProcessingError"
        case .missingDeviceToken: "MissingDeviceToken"
        case .missingTopic: "MissingTopic"
        case .missingPayload: "MissingPayload"
        case .invalidTokenSize: "InvalidTokenSize"
        case .invalidTopicSize: "InvalidTopicSize"
        case .invalidPayloadSize: "InvalidPayloadSize"
        case .invalidToken: "InvalidToken"
        case .shutdown: "Shutdown"
        case .protocolError: "ProtocolError"
        case .unknown: "Unknown"
        }
    }
}
