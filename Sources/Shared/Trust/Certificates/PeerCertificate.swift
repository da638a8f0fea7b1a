import Credentials
import SwiftASN1
import X509

/// Reads a certificate that a peer has sent.
enum PeerCertificate {
    /// - Throws: If the certificate cannot be read, or says twice and differently how it was signed: outside, where the
    ///   signature is checked, and in the signed part (RFC 5280, 4.1.1.2). swift-certificates does not compare the two.
    static func read(_ bytes: [UInt8]) throws(TrustError) -> Certificate {
        let (certificate, isConsistent) = try TrustError.reading("The certificate cannot be read.") {
            (try Certificate(derEncoded: bytes), try saysOnceHowItWasSigned(bytes))
        }
        guard isConsistent else {
            throw TrustError(.malformed, "The certificate names two different signature algorithms.")
        }
        return certificate
    }

    private static func saysOnceHowItWasSigned(_ bytes: [UInt8]) throws -> Bool {
        // Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm, signature }
        // TBSCertificate ::= SEQUENCE { [0] version (optional), serialNumber, signature, … }
        let parts = children(of: try DER.parse(bytes))
        var fields = parts.first.map(children) ?? []
        if fields.first?.identifier.tagClass == .contextSpecific { fields.removeFirst() }
        guard parts.count > 1, fields.count > 1 else { return false }
        return parts[1].encodedBytes == fields[1].encodedBytes
    }

    private static func children(of node: ASN1Node) -> [ASN1Node] {
        if case .constructed(let nodes) = node.content { Array(nodes) } else { [] }
    }
}
