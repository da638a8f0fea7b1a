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

    /// One row of the table of statuses.
    package struct Row: Sendable {
        /// The reason in the journal.
        package let name: String
        /// The description in Table A-4.
        package let meaning: String
        /// The reason with which the HTTP/2 API reports the same error; nil if it has none.
        package let rejection: Rejection.Reason?
    }

    package var row: Row {
        switch self {
        case .noErrors: Row(name: "NoErrors", meaning: "No errors encountered", rejection: nil)
        case .processingError:
            Row(name: "ProcessingError", meaning: "Processing error", rejection: .serviceUnavailable)
        case .missingDeviceToken:
            Row(name: "MissingDeviceToken", meaning: "Missing device token", rejection: .missingDeviceToken)
        case .missingTopic: Row(name: "MissingTopic", meaning: "Missing topic", rejection: .missingTopic)
        case .missingPayload: Row(name: "MissingPayload", meaning: "Missing payload", rejection: .payloadEmpty)
        case .invalidTokenSize: Row(name: "InvalidTokenSize", meaning: "Invalid token size", rejection: .badDeviceToken)
        case .invalidTopicSize: Row(name: "InvalidTopicSize", meaning: "Invalid topic size", rejection: .badTopic)
        case .invalidPayloadSize:
            Row(name: "InvalidPayloadSize", meaning: "Invalid payload size", rejection: .payloadTooLarge)
        case .invalidToken: Row(name: "InvalidToken", meaning: "Invalid token", rejection: .badDeviceToken)
        case .shutdown: Row(name: "Shutdown", meaning: "Shutdown", rejection: .shutdown)
        case .protocolError: Row(name: "ProtocolError", meaning: "Protocol error", rejection: nil)
        case .unknown: Row(name: "Unknown", meaning: "None (unknown)", rejection: nil)
        }
    }

    /// The reason in the journal.
    package var reason: String { row.name }
}
