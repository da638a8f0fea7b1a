/// The last number in a device token: the generation of its registration in the lower 28 bits, and the service of the
/// app that the token is for in the upper four. An app's own token has zeros there, as all tokens had before there were
/// services.
package enum TokenNumber {
    private static let generationBits: UInt32 = 28

    /// The last generation of a registration: more than a device can have resets.
    package static let lastGeneration: UInt32 = (1 << generationBits) - 1

    /// Returns the number for a generation and a service.
    package static func make(generation: UInt32, service: TopicKind) -> UInt32 {
        service.tokenCode << generationBits | generation & lastGeneration
    }

    package static func generation(of number: UInt32) -> UInt32 { number & lastGeneration }

    package static func isFor(_ service: TopicKind, _ number: UInt32) -> Bool {
        number >> generationBits == service.tokenCode
    }

    /// - Returns: nil for a service that only a later release knows.
    package static func service(of number: UInt32) -> TopicKind? {
        TopicKind.allCases.first { $0.tokenCode == number >> generationBits }
    }
}

extension TopicKind {
    /// The service's number in device tokens. It must never change, because tokens are valid for years.
    fileprivate var tokenCode: UInt32 {
        switch self {
        case .app: 0
        case .voip: 1
        case .complication: 2
        case .fileProvider: 3
        case .location: 4
        case .liveActivity: 5
        case .pushToTalk: 6
        case .controls: 7
        case .widgets: 8
        }
    }

    /// The name of the service in paths and options: its push type. Nil for the app itself.
    package var serviceName: String? {
        PushType.allCases.first { $0.topicKind == self && self != .app }?.rawValue
    }

    /// - Returns: nil unless it is the name of a service.
    package init?(serviceName: String) {
        guard let kind = PushType(rawValue: serviceName)?.topicKind, kind != .app else { return nil }
        self = kind
    }
}
