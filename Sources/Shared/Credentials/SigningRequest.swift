package import Crypto
import SwiftASN1

/// A request for a certificate (PKCS#10, RFC 2986), of a device, a provider or an administrator.
package enum SigningRequest {
    /// The largest size in PEM, in bytes. Larger requests are refused unread. A request with an RSA key of 4096 bits
    /// and a long subject has some 2,000.
    package static let maximumBytes = 8192

    /// Makes a request for a key, in PEM. The name in it is empty.
    package static func pem(for key: P256.Signing.PrivateKey) throws(TrustError) -> String {
        try TrustError.wrapping(.failed, "The certificate request could not be made.") {
            var info = DER.Serializer()
            try serializeInfo(of: key.publicKey, into: &info)
            let signature = try key.signature(for: info.serializedBytes).derRepresentation
            var request = DER.Serializer()
            try request.appendConstructedNode(identifier: .sequence) { coder in
                coder.serializeRawBytes(info.serializedBytes)
                // ecdsa-with-SHA256, which has no parameters (RFC 5758, 3.2).
                let algorithm: ASN1ObjectIdentifier = [1, 2, 840, 10_045, 4, 3, 2]
                try coder.appendConstructedNode(identifier: .sequence) { try $0.serialize(algorithm) }
                try coder.serialize(ASN1BitString(bytes: ArraySlice(signature)))
            }
            return PEMDocument(type: PEM.requestLabel, derBytes: request.serializedBytes).pemString + "\n"
        }
    }

    /// CertificationRequestInfo (RFC 2986, 4.1): the version v1, an empty name, the key, and no attributes.
    private static func serializeInfo(of key: P256.Signing.PublicKey, into coder: inout DER.Serializer) throws {
        try coder.appendConstructedNode(identifier: .sequence) { coder in
            try coder.serialize(0)
            coder.appendConstructedNode(identifier: .sequence) { _ in }
            coder.serializeRawBytes(key.derRepresentation)
            let attributes = ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific)
            coder.appendConstructedNode(identifier: attributes) { _ in }
        }
    }
}
