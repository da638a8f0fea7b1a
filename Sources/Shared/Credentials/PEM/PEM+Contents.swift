package import Crypto
import SwiftASN1

// What a text in PEM holds: certificates, and the halves of a key.
extension PEM {
    static let encryptedKey = "ENCRYPTED PRIVATE KEY"
    private static let opensshKey = "OPENSSH PRIVATE KEY"
    /// The labels of certificates: that of RFC 7468, an older one (5.1), and one of openssl, which has more after the
    /// certificate.
    private static let certificateLabels: Set<String> = ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"]
    static let revocationListLabel = "X509 CRL"
    private static let publicKeyLabel = "PUBLIC KEY"
    /// The label of a certificate request, and the one that older tools write (RFC 7468, 7).
    private static let requestLabels: Set<String> = [requestLabel, "NEW CERTIFICATE REQUEST"]
    static let requestLabel = "CERTIFICATE REQUEST"
    /// The label of an RSA key in the form of RFC 8017.
    private static let rsaKey = "RSA PRIVATE KEY"

    /// All certificates in DER, in their order.
    /// - Throws: ``TrustError`` if there is none, or if one is not Base64.
    package var certificates: [[UInt8]] {
        get throws(TrustError) {
            var certificates: [[UInt8]] = []
            for block in blocks where Self.certificateLabels.contains(block.label) {
                certificates.append(Self.firstElement(of: try block.der))
            }
            guard certificates.isEmpty else { return certificates }
            throw TrustError(.malformed, "There is no certificate in the text, but \(contents).")
        }
    }

    /// The first private key in DER: PKCS#8, or the form of its kind (RFC 5915, RFC 8017).
    /// - Throws: ``TrustError`` if there is none, if it has a passphrase, or if it is not Base64.
    package var privateKey: [UInt8] {
        get throws(TrustError) { try labelledPrivateKey.key }
    }

    private var labelledPrivateKey: (label: String, key: [UInt8]) {
        get throws(TrustError) {
            guard let key = blocks.first(where: { $0.label.hasSuffix("PRIVATE KEY") }) else {
                throw TrustError(.malformed, "There is no private key in the text, but \(contents).")
            }
            guard !key.isEncrypted else {
                throw TrustError(
                    .malformed, "The private key has a passphrase; openssl pkey -in FILE -out NEW takes it off.")
            }
            guard key.label != Self.opensshKey else {
                throw TrustError(
                    .malformed, "The private key has OpenSSH's own form; ssh-keygen -p -m PKCS8 -f FILE changes that.")
            }
            return (key.label, try key.der)
        }
    }

    /// The first public key in DER (SubjectPublicKeyInfo).
    var publicKey: [UInt8] {
        get throws(TrustError) {
            guard let key = blocks.first(where: { $0.label == Self.publicKeyLabel }) else {
                throw TrustError(.malformed, "There is no public key in the text, but \(contents).")
            }
            return try key.der
        }
    }

    /// The first certificate request in DER.
    package var certificateRequest: [UInt8] {
        get throws(TrustError) {
            guard let request = blocks.first(where: { Self.requestLabels.contains($0.label) }) else {
                throw TrustError(.malformed, "There is no certificate request in the text, but \(contents).")
            }
            return try request.der
        }
    }

    /// The first certificate revocation list in DER.
    var revocationList: [UInt8] {
        get throws(TrustError) {
            guard let list = blocks.first(where: { $0.label == Self.revocationListLabel }) else {
                throw TrustError(.malformed, "There is no certificate revocation list in the text, but \(contents).")
            }
            return try list.der
        }
    }

    /// What is in the text, in words. A label comes from outside, so only known ones are named.
    private var contents: String {
        let names = blocks.map { block in
            switch block.label {
            case let label where Self.certificateLabels.contains(label): "a certificate"
            case let label where Self.requestLabels.contains(label): "a certificate request"
            case let label where label.hasSuffix("PRIVATE KEY"): "a private key"
            case Self.publicKeyLabel: "a public key"
            case Self.revocationListLabel: "a certificate revocation list"
            case "EC PARAMETERS": "the parameters of a curve"
            default: "something else"
            }
        }
        var seen: Set<String> = []
        return names.filter { seen.insert($0).inserted }.joined(separator: " and ")
    }

    /// The bytes of the first element, without those that follow it: openssl writes what it trusts a certificate for after
    /// the certificate.
    private static func firstElement(of der: [UInt8]) -> [UInt8] {
        guard der.count > 1 else { return der }
        guard der[1] >= 0x80 else { return Array(der.prefix(2 + Int(clamping: der[1]))) }
        // The length in the long form (X.690, 8.1.3.5). More than four bytes are more than any text has.
        let bytes = der.dropFirst(2).prefix(Int(clamping: der[1] & 0x7f))
        guard (1...4).contains(bytes.count) else { return der }
        let length = bytes.reduce(0) { $0 << 8 | Int(clamping: $1) }
        return Array(der.prefix(2 + bytes.count + length))
    }

    /// The certificates as RFC 7468 writes them, each with a line break at its end.
    /// - Throws: as ``certificates``.
    package var certificateText: String {
        get throws(TrustError) {
            try certificates.map { PEMDocument(type: "CERTIFICATE", derBytes: $0).pemString + "\n" }.joined()
        }
    }

    /// The first private key as RFC 7468 writes it, without a line break at its end.
    /// - Throws: as ``privateKey``.
    package var privateKeyText: String {
        get throws(TrustError) {
            let (label, key) = try labelledPrivateKey
            return PEMDocument(type: label, derBytes: key).pemString
        }
    }
}

extension PEM {
    /// The first private key as a P-256 key.
    /// - Throws: as ``privateKey``, and if the key is of another kind.
    package var signingKey: P256.Signing.PrivateKey {
        get throws(TrustError) {
            let (label, der) = try labelledPrivateKey
            // The library's error could quote the key.
            if let key = try? P256.Signing.PrivateKey(derRepresentation: der) { return key }
            try Self.checkParameters(of: der, "private key", "-in")
            let other = Self.otherKind(of: der, label)
            throw TrustError(
                other == nil ? .malformed : .unsupportedKey,
                other.map { "This is a key of the kind \($0), not of P-256." } ?? "This is not a P-256 private key.")
        }
    }

    /// The first public key as a P-256 key.
    /// - Throws: as ``publicKey``, and if the key is of another kind.
    package var verifyingKey: P256.Signing.PublicKey {
        get throws(TrustError) {
            let der = try publicKey
            try Self.checkParameters(of: der, "public key", "-pubin -in")
            return try TrustError.wrapping(.unsupportedKey, "This is not a P-256 public key.") {
                try P256.Signing.PublicKey(derRepresentation: der)
            }
        }
    }

    /// A key may have the numbers of its curve in place of the name, which nobody should read (RFC 5480, 2.1.1).
    private static func checkParameters(of der: [UInt8], _ kind: String, _ options: String) throws(TrustError) {
        guard der.firstRange(of: primeField) != nil else { return }
        throw TrustError(
            .malformed,
            "The \(kind) has the parameters of its curve in place of the name; openssl pkey \(options) FILE "
                + "-ec_param_enc named_curve -out NEW changes that.")
    }

    /// `id-prime-field` (RFC 3279, 2.3.5), `id-Ed25519` (RFC 8410, 3) and `rsaEncryption` (RFC 8017, A.1), in DER.
    private static let primeField: [UInt8] = [0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x01, 0x01]
    private static let ed25519: [UInt8] = [0x06, 0x03, 0x2b, 0x65, 0x70]
    private static let rsa: [UInt8] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01]

    /// The kind of a private key that is not P-256; nil if it is unknown.
    private static func otherKind(of der: [UInt8], _ label: String) -> String? {
        if der.firstRange(of: ed25519) != nil { return "Ed25519" }
        if (try? P384.Signing.PrivateKey(derRepresentation: der)) != nil { return "P-384" }
        if (try? P521.Signing.PrivateKey(derRepresentation: der)) != nil { return "P-521" }
        if label == rsaKey || der.firstRange(of: rsa) != nil { return "RSA" }
        return nil
    }
}
