import Crypto
package import Notifications

/// The name of a gateway in `via` (RFC 9110, 7.6.3), by which it recognises a request that it has forwarded before.
package struct GatewayName: Sendable, Hashable, CustomStringConvertible {
    /// A pseudonym: a token of RFC 9110.
    package let description: String
    /// The value of `via` in a request that has passed no other gateway.
    private let via: String

    /// - Parameter identity: what all nodes of the service have in common, and no other service has.
    package init(of identity: [UInt8], _ environment: Environment) {
        let digest = SHA256.hash(data: identity).prefix(8)
        description = "carillon-\(Hexadecimal.string(digest))-\(environment.rawValue)"
        via = "2 " + description
    }

    /// What a request has passed.
    enum Passed: Hashable {
        /// Other gateways, this many.
        case others(Int)
        /// This gateway.
        case this
    }

    /// Reads the value of `via`: `received-protocol received-by [comment]`, with commas between the gateways.
    func passed(_ via: String) -> Passed {
        guard !via.isEmpty else { return .others(0) }
        var count = 0
        for element in Self.withoutComments(via).split(separator: ",") {
            let words = element.split { $0 == " " || $0 == "\t" }
            guard !words.isEmpty else { continue }
            count += 1
            if words.count > 1, words[1].lowercased() == description { return .this }
        }
        return .others(count)
    }

    /// Returns a value without its comments, which may have commas, other comments and escaped characters (RFC 9110, 5.6.5).
    /// A comment that does not end is the rest of the value.
    private static func withoutComments(_ value: String) -> String {
        var (depth, isEscaped, rest) = (0, false, "")
        for character in value {
            if depth == 0 {
                if character == "(" { depth = 1 } else { rest.append(character) }
            } else if isEscaped {
                isEscaped = false
            } else {
                switch character {
                case "\\": isEscaped = true
                case "(": depth += 1
                case ")": depth -= 1
                default: break
                }
            }
        }
        return rest
    }

    /// The value with which a request goes on.
    package func via(after earlier: String) -> String { earlier.isEmpty ? via : earlier + ", " + via }
}
