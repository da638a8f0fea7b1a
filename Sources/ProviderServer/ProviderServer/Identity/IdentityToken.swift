import Foundation
import HTTPAPI
import Notifications

/// A token with which an organisation's identity provider says who the user is: a signed JSON Web Token (RFC 7519).
///
/// Reading a token checks its form only. Its claims count after ``IdentityKeySet/verifies(_:)``.
struct IdentityToken: Sendable {
    /// The algorithms of signatures. `none` and the HMAC algorithms are not among them: with HMAC, whoever knows the
    /// public key could sign a token (RFC 8725, 2.1).
    enum Algorithm: String, Sendable {
        case rs256 = "RS256"
        case es256 = "ES256"
    }

    let algorithm: Algorithm
    /// The key that has signed the token; nil if the token does not say.
    let keyID: String?
    /// The bytes that are signed.
    let signed: Data
    let signature: Data

    let issuer: String
    let audiences: [String]
    /// The user.
    let subject: String
    /// Seconds since 1970.
    private let expires: Double
    private let notBefore: Double?

    /// Whether a bearer credential has the form of a token. The server's own keys have no full stop.
    static func isLikely(_ text: Substring) -> Bool { text.utf8.contains(UInt8(ascii: ".")) }

    init(_ text: Substring) throws(Problem) {
        guard text.utf8.count <= ProviderServerLimits.identityTokenBytes else {
            throw Self.fault("may have \(ProviderServerLimits.identityTokenBytes) bytes")
        }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let signature = Self.bytes(parts[2]), let header = Self.object(parts[0]),
            let claims = Self.object(parts[1])
        else { throw Self.fault("has to be a signed JSON Web Token of three parts") }
        guard let algorithm = header["alg"]?.string.flatMap(Algorithm.init) else {
            throw Self.fault("has to be signed with RS256 or ES256")
        }
        // An extension that is critical has to be understood, and this server knows none (RFC 7515, 4.1.11).
        guard header["crit"] == nil else { throw Self.fault("has the header crit, which is not supported") }
        self.algorithm = algorithm
        keyID = header["kid"]?.string
        signed = Data("\(parts[0]).\(parts[1])".utf8)
        self.signature = Data(signature)
        guard let issuer = claims["iss"]?.string else { throw Self.fault("needs the claim iss") }
        self.issuer = issuer
        audiences = Self.audiences(claims)
        guard let expires = claims["exp"]?.double else { throw Self.fault("needs the claim exp, a number") }
        self.expires = expires
        notBefore = claims["nbf"]?.double
        guard notBefore != nil || claims["nbf"] == nil else { throw Self.fault("has a claim nbf that is no number") }
        guard let subject = claims["sub"]?.string, TextFormat.shortLine.allows(subject) else {
            throw Self.fault("needs the claim sub, the user: \(TextFormat.shortLine.name)")
        }
        self.subject = subject
    }

    /// - Throws: a problem if the token is not valid at this time. Clocks may differ by
    ///   ``ProviderServerLimits/clockDifference``.
    func checkTime(_ now: Timestamp) throws(Problem) {
        let (now, difference) = (Double(now.milliseconds) / 1000, ProviderServerLimits.clockDifference)
        guard now < expires + difference else { throw Problem(401, "The token has expired: ask for a new one.") }
        guard notBefore.map({ $0 <= now + difference }) ?? true else {
            throw Problem(401, "The token is not valid yet: check the clocks.")
        }
    }

    static func fault(_ what: String) -> Problem { Problem(401, "The token \(what).") }

    /// A token with a key twice is refused: others may read the other value (RFC 7519, 4).
    private static func object(_ part: Substring) -> JSONMembers? {
        guard let bytes = bytes(part),
            case .object(let members)? = try? JSONValue(document: bytes, maximumDepth: APILimits.documentDepth)
        else { return nil }
        return members
    }

    private static func bytes(_ part: Substring) -> [UInt8]? { Base64URL.decoded(Array(part.utf8)[...], .token) }

    /// `aud` is one text or a list of texts (RFC 7519, 4.1.3).
    private static func audiences(_ claims: JSONMembers) -> [String] {
        switch claims["aud"] {
        case .string(let one): [one]
        case .array(let several): several.compactMap(\.string)
        default: []
        }
    }
}
