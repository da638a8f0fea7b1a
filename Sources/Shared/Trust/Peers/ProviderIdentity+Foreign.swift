package import Credentials
import Crypto
import Foundation
import Notifications
import SwiftASN1
import X509

extension ProviderIdentity {
    /// Reads a provider certificate that this service did not issue, as those of Apple's authority. The TLS handshake
    /// has shown that the client has its key; nobody has shown who issued it.
    ///
    /// - Parameters:
    ///   - chain: in DER, the leaf first.
    ///   - now: seconds since 1970.
    /// - Throws: If the certificate cannot be read, has expired, or names no topic.
    package static func foreign(chain: [[UInt8]], now: Double) throws(TrustError) -> ProviderIdentity {
        guard let bytes = chain.first else { throw TrustError(.untrusted, "There is no certificate.") }
        guard bytes.count <= CertificateAuthority.maximumCertificateBytes else {
            throw TrustError(.tooLarge, "The certificate is too large.")
        }
        let leaf = try PeerCertificate.read(bytes)
        // A certificate of this service for another role, or one that looks so.
        guard leaf.extensions[oid: CertificateIdentifiers.role] == nil else {
            throw TrustError(.untrusted, "The certificate was not issued here for a provider.")
        }
        guard now >= leaf.notValidBefore.timeIntervalSince1970 else {
            throw TrustError(.notYetValid, "The certificate is not valid yet.")
        }
        guard now <= leaf.notValidAfter.timeIntervalSince1970 else {
            throw TrustError(.expired, "The certificate has expired.")
        }
        let topics = try TrustError.wrapping(.malformed, "The certificate's extensions cannot be read.") {
            try leaf.extensions[oid: CertificateIdentifiers.topics].map {
                try CertificateTopics(derEncoded: $0.value).list
            }
        }
        guard let uid = bundleID(of: leaf, topics ?? []), let team = team(of: leaf, bytes),
            let serial = serial(of: bytes)
        else {
            throw TrustError(.wrongUse, "The certificate names no topic: neither in an extension nor in its subject.")
        }
        let marked = Set(Environment.allCases.filter { leaf.extensions[oid: $0.certificateMarker] != nil })
        return ProviderIdentity(
            uid: uid, topics: topics ?? [],
            // Certificates that tests make for themselves have no markers.
            environments: marked.isEmpty ? Set(Environment.allCases) : marked, serial: serial,
            validUntil: leaf.notValidAfter.timeIntervalSince1970, foreignTeam: team)
    }

    /// The bundle ID: the subject's UID, as in Apple's certificates; otherwise the first topic, or the common name, in
    /// which Apple's certificates have a title before it (`Apple Push Services: com.example.app`).
    private static func bundleID(of leaf: Certificate, _ topics: [CertificateTopic]) -> String? {
        let names = [
            text(CertificateIdentifiers.userID, in: leaf.subject), topics.first { $0.kind == "app" }?.topic,
            topics.first?.topic, text(.RDNAttributeType.commonName, in: leaf.subject).map(withoutTitle),
        ]
        return names.lazy.compactMap(\.self).first { BundleID(rawValue: $0) != nil }
    }

    private static func withoutTitle(_ name: String) -> String {
        name.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? name
    }

    /// The team: the subject's organizational unit, as in Apple's certificates. Otherwise ten characters that follow from
    /// the certificate, so that it always counts for the same team.
    private static func team(of leaf: Certificate, _ bytes: [UInt8]) -> TeamID? {
        if let unit = text(.RDNAttributeType.organizationalUnitName, in: leaf.subject).flatMap(TeamID.init) {
            return unit
        }
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
        // fits: five bits
        return TeamID(rawValue: String(SHA256.hash(data: bytes).prefix(10).map { letters[Int($0 & 31)] }))
    }

    /// A serial number that follows from the certificate. Its own could be that of a certificate of this service.
    private static func serial(of bytes: [UInt8]) -> CertificateSerial? {
        var serial = Array(SHA256.hash(data: bytes).prefix(CertificateSerial.byteCount))
        // All serial numbers of this service begin with these two bits.
        serial[0] = serial[0] & 0x3f | 0x40
        return CertificateSerial(bytes: serial)
    }

    private static func text(_ type: ASN1ObjectIdentifier, in subject: DistinguishedName) -> String? {
        subject.lazy.flatMap { $0 }.first { $0.type == type }.flatMap { String($0.value) }
    }
}
