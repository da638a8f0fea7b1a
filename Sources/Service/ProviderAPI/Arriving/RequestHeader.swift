import Notifications

/// The request headers of the provider API (Guide, Tables 8-1 and 8-2; `apns-push-type` is newer). All other headers
/// are ignored.
enum RequestHeader: UInt16, CaseIterable {
    case method = 1
    case path = 2
    case authorization = 4
    case id = 8
    case expiration = 16
    case priority = 32
    case topic = 64
    case collapseID = 128
    case pushType = 256
    /// The service checks this header, because bodies must not be compressed.
    case contentEncoding = 512
    /// Only requests about broadcast channels have this header and the next one (docs/channels.md).
    case channelID = 1024
    case requestID = 2048
    /// The gateways that the request has passed (RFC 9110, 7.6.3). It may occur more than once.
    case via = 4096

    /// Finds a header by the bytes of its name. Length and one byte rule out all but one header, so only one name is
    /// compared.
    init?(name: Span<UInt8>) {
        let candidate: RequestHeader
        switch name.count {
        case 3: candidate = .via
        case 5: candidate = .path
        case 7: candidate = name[0] == UInt8(ascii: ":") ? .method : .id
        case 10: candidate = .topic
        case 13: candidate = name[1] == UInt8(ascii: "u") ? .authorization : .priority
        case 14: candidate = .pushType
        case 15:
            switch name[5] {
            case UInt8(ascii: "e"): candidate = .expiration
            case UInt8(ascii: "c"): candidate = .channelID
            default: candidate = .requestID
            }
        case 16: candidate = name[0] == UInt8(ascii: "a") ? .collapseID : .contentEncoding
        default: return nil
        }
        guard name.isEqual(to: candidate.name) else { return nil }
        self = candidate
    }

    /// The name in the request.
    var name: StaticString {
        switch self {
        case .method: ":method"
        case .path: ":path"
        case .authorization: "authorization"
        case .id: "apns-id"
        case .expiration: "apns-expiration"
        case .priority: "apns-priority"
        case .topic: "apns-topic"
        case .collapseID: "apns-collapse-id"
        case .pushType: "apns-push-type"
        case .contentEncoding: "content-encoding"
        case .channelID: "apns-channel-id"
        case .requestID: "apns-request-id"
        case .via: "via"
        }
    }
}
