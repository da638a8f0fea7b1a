import APNSProvider
import Crypto
import Foundation
import Service
import SwiftASN1
import X509

/// A provider certificate that another authority has made, with the subject and the extensions of Apple's.
struct ForeignCertificate {
    var uid: String? = "com.example.shop"
    var commonName = "Apple Push Services: com.example.shop"
    var unit: String? = "APPLETEAM1"
    /// The topics of the extension 1.2.840.113635.100.6.3.6, each with its kind; nil for a certificate without it.
    var topics: [(String, String)]? = [
        ("com.example.shop", "app"), ("com.example.shop.voip", "voip"),
        ("com.example.shop.complication", "complication"),
    ]
    /// The last numbers of the extensions that mark the environments: 1 is development, 2 production.
    var markers: [UInt] = [1, 2]
    var notAfter = Date(timeIntervalSinceNow: 3600)

    func make() throws -> ClientCertificate {
        let (key, authority) = (P256.Signing.PrivateKey(), P256.Signing.PrivateKey())
        let names: [(ASN1ObjectIdentifier, String?)] = [
            ([0, 9, 2342, 19_200_300, 100, 1, 1], uid), (.RDNAttributeType.commonName, commonName),
            (.RDNAttributeType.organizationalUnitName, unit),
        ]
        let subject = try DistinguishedName(
            names.compactMap { type, text in
                text.map { RelativeDistinguishedName.Attribute(type: type, utf8String: $0) }
            })
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: Certificate.PublicKey(key.publicKey),
            notValidBefore: Date(timeIntervalSinceNow: -3600), notValidAfter: notAfter,
            issuer: try DistinguishedName { CommonName("Another authority") }, subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256, extensions: try extensions(),
            issuerPrivateKey: Certificate.PrivateKey(authority))
        return ClientCertificate(
            chainPEM: try certificate.serializeAsPEM().pemString + "\n", keyPEM: key.pemRepresentation)
    }

    private func extensions() throws -> Certificate.Extensions {
        var list = [
            try Certificate.Extension(ExtendedKeyUsage([.clientAuth]), critical: true),
            try Certificate.Extension(BasicConstraints.notCertificateAuthority, critical: true),
        ]
        for marker in markers {
            list.append(.init(oid: [1, 2, 840, 113_635, 100, 6, 3, marker], critical: false, value: [0x05, 0x00]))
        }
        if let topics {
            var coder = DER.Serializer()
            try coder.appendConstructedNode(identifier: .sequence) { coder in
                for (topic, kind) in topics {
                    try coder.serialize(ASN1UTF8String(topic))
                    try coder.appendConstructedNode(identifier: .sequence) { try $0.serialize(ASN1UTF8String(kind)) }
                }
            }
            list.append(
                .init(oid: [1, 2, 840, 113_635, 100, 6, 3, 6], critical: false, value: coder.serializedBytes[...]))
        }
        return try Certificate.Extensions(list)
    }
}

extension TestService {
    /// Sends a notification over the binary API.
    /// - Returns: whether the service accepted it.
    func sendBinary(_ token: String, by certificate: ClientCertificate) async throws -> Bool {
        let provider = try BinaryProvider(
            environment: APNSEnvironment(
                host: "127.0.0.1", port: port(\.binary), authority: .file(description.ca)),
            credentials: ProviderCredentials(certificate: certificate.chainPEM, key: certificate.keyPEM))
        let push = try BinaryPush(deviceToken: token, payload: Array(#"{"aps":{"alert":"Hello"}}"#.utf8))
        return await provider.send([push]) == [.accepted]
    }
}
