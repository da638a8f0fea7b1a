import Crypto
import Foundation
import HTTPTypes
import Notifications
import Trust
import WebPush

/// An application server with a key. It makes tokens by hand, so that a test can make one part invalid.
struct VAPIDFixture {
    static let now: Double = 1_800_000_000
    static let origin = "https://push.example.com"

    let privateKey = P256.Signing.PrivateKey()

    var keyBytes: [UInt8] { Array(privateKey.publicKey.x963Representation) }
    var key: String { Self.text(keyBytes) }

    static func text(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: Base64URL.encoded(bytes), as: UTF8.self)
    }

    static func claims(_ changes: [String: String?] = [:], origin: String = origin, now: Double = now) -> String {
        var members = [
            "aud": "\"\(origin)\"", "exp": "\(Int(now) + 3600)", "sub": #""mailto:admin@example.com""#,
        ]
        for (key, value) in changes { members[key] = value }
        return "{" + members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    }

    /// A token with a valid signature over these texts.
    func token(_ claims: String = claims(), header: String = #"{"typ":"JWT","alg":"ES256"}"#) throws -> String {
        let signed = Self.text(header.utf8) + "." + Self.text(claims.utf8)
        return try signed + "." + Self.text(privateKey.signature(for: Data(signed.utf8)).rawRepresentation)
    }

    func authorization(_ claims: String = claims()) throws -> String { try "vapid t=\(token(claims)), k=\(key)" }
}
