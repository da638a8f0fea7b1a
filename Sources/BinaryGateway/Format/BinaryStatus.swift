/// The codes of an error packet (Guide, Table A-4). docs/binary-api.md says which of them this service sends.
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
}
