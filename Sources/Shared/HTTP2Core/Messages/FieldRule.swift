/// What the rules for messages say of a field because of its name (RFC 9113, 8.2.2 and 8.3).
enum FieldRule: UInt8 {
    /// A regular field without a rule of its own.
    case none
    case method
    case path
    case scheme
    case authority
    case status
    /// A pseudo-header field that is not defined.
    case unknownPseudo
    case te
    case host
    case contentLength
    case connectionSpecific

    init(name: Span<UInt8>) {
        if !name.isEmpty, name[0] == UInt8(ascii: ":") {
            self = Self.pseudo(name)
        } else {
            self = Self.regular(name)
        }
    }

    var isPseudo: Bool {
        switch self {
        case .method, .path, .scheme, .authority, .status, .unknownPseudo: true
        case .none, .te, .host, .contentLength, .connectionSpecific: false
        }
    }

    private static func pseudo(_ name: Span<UInt8>) -> FieldRule {
        switch name.count {
        case 5 where name.isEqual(to: ":path"): .path
        case 7 where name.isEqual(to: ":method"): .method
        case 7 where name.isEqual(to: ":scheme"): .scheme
        case 7 where name.isEqual(to: ":status"): .status
        case 10 where name.isEqual(to: ":authority"): .authority
        default: .unknownPseudo
        }
    }

    private static func regular(_ name: Span<UInt8>) -> FieldRule {
        switch name.count {
        case 2 where name.isEqual(to: "te"): .te
        case 4 where name.isEqual(to: "host"): .host
        case 14 where name.isEqual(to: "content-length"): .contentLength
        case 7 where name.isEqual(to: "upgrade"), 10 where name.isEqual(to: "connection"),
            10 where name.isEqual(to: "keep-alive"), 16 where name.isEqual(to: "proxy-connection"),
            17 where name.isEqual(to: "transfer-encoding"):
            .connectionSpecific
        default: .none
        }
    }
}
