import Crypto
package import HTTPTypes
import HTTPAPI
import Notifications
package import Trust

/// The token and the key of a request, as they were sent. Nothing of them is verified.
package struct VAPIDCredential: Sendable, Hashable {
    package let token: [UInt8]
    /// The application server's key.
    package let key: [UInt8]

    /// SHA-256 of both, by which a verified token is found: 32 bytes in place of up to 4 KB.
    package typealias Digest = [UInt8]

    package var digest: Digest { Array(SHA256.hash(data: key + token)) }

    /// - Returns: nil if the request has no token: another scheme counts as none.
    /// - Throws: if there is a token that cannot be read.
    package static func read(_ fields: HTTPFields) throws(VAPIDFault) -> VAPIDCredential? {
        let values = fields[values: .authorization]
        let schemes = values.map { Scheme($0) }
        guard schemes.contains(where: { $0 != nil }) else { return nil }
        guard let value = values.first, values.count == 1, let scheme = schemes.first.flatMap(\.self) else {
            throw VAPIDFault("The header field Authorization is there more than once.")
        }
        let following = value.dropFirst(scheme.rawValue.count)
        guard following.first.map({ " \t".contains($0) }) ?? true else { throw Self.otherForm }
        let rest = String(following).trimmingBlanks
        switch scheme {
        case .vapid: return try VAPIDCredential(parameters: rest)
        case .draft: return try VAPIDCredential(draft: rest, fields)
        }
    }

    private static let otherForm = VAPIDFault(
        "The header field Authorization has to be: vapid t=TOKEN, k=KEY (RFC 8292, 3).")

    /// `t=TOKEN, k=KEY`, in either order (RFC 8292, 3).
    private init(parameters text: String) throws(VAPIDFault) {
        guard let parameters = FieldParameters(text) else {
            throw Self.otherForm
        }
        let all = parameters.entries.flatMap(\.self)
        let (tokens, keys) = (all.filter { $0.name == "t" }, all.filter { $0.name == "k" })
        guard tokens.count == 1, keys.count == 1 else {
            throw VAPIDFault("The header field Authorization has to have one t and one k (RFC 8292, 3).")
        }
        token = Array(tokens[0].value.utf8)
        key = try Self.key(keys[0].value)
    }

    /// Draft 1: the key is in `Crypto-Key: p256ecdsa=KEY`.
    private init(draft token: String, _ fields: HTTPFields) throws(VAPIDFault) {
        guard !token.isEmpty else { throw VAPIDFault("The header field Authorization has no token.") }
        let parameters = fields[FieldName.cryptoKey].flatMap(FieldParameters.init)?.entries.flatMap(\.self) ?? []
        let keys = parameters.filter { $0.name == "p256ecdsa" }
        guard keys.count == 1 else {
            throw VAPIDFault("The header field Crypto-Key has to have one p256ecdsa, the key of the token.")
        }
        self.token = Array(token.utf8)
        key = try Self.key(keys[0].value)
    }

    private static func key(_ text: String) throws(VAPIDFault) -> [UInt8] {
        guard let bytes = Base64URL.decoded(Array(text.utf8)[...]), bytes.count == VAPIDRules.keyBytes else {
            throw VAPIDFault("The key is not \(VAPIDRules.keyBytes) bytes in base64url (RFC 8292, 3.2).")
        }
        return bytes
    }

    /// The schemes of `Authorization`, in any case (RFC 9110, 11.1).
    private enum Scheme: String {
        case vapid
        /// Draft 1 of RFC 8292.
        case draft = "webpush"

        init?(_ value: String) {
            // What ends a token (RFC 9110, 5.6.2): a value that begins with a scheme and goes on otherwise cannot be read.
            let word = value.prefix { !" \t,;=".contains($0) }.lowercased()
            guard let scheme = Scheme(rawValue: word) else { return nil }
            self = scheme
        }
    }
}
