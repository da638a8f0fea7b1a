import Crypto
import Foundation
package import Notifications
import SwiftASN1
import X509

/// A certificate revocation list (RFC 5280, 5): the certificates of an issuer that are no longer trusted. The list is
/// for other software. The service itself uses its accounts.
package struct RevocationList: Sendable, Hashable {
    /// The time that a list is valid: a week, although each request gets a new one.
    package static let life: Double = 7 * 86_400

    /// DER (RFC 5280, 5.1; its media type is `application/pkix-crl`).
    package let der: [UInt8]

    /// The media type of ``der`` (RFC 5280, 4.2.1.13).
    package static let mediaType = "application/pkix-crl"

    package init(der: [UInt8]) { self.der = der }

    /// Reads when a list was made (thisUpdate, RFC 5280, 5.1.2.4), in seconds since 1970. The signature is not verified.
    package static func made(pem: String) throws(TrustError) -> Double {
        let der = try PEM(pem).revocationList
        return try TrustError.reading("The revocation list cannot be read.") {
            let list = try DER.parse(der)
            return try DER.sequence(list, identifier: .sequence) { parts in
                let content = try parts.next().orMissing()
                while parts.next() != nil {}
                return try DER.sequence(content, identifier: .sequence) { fields in
                    // The version, the algorithm and the issuer come first.
                    for _ in 0..<3 { _ = fields.next() }
                    let time = try ListTime(derEncoded: try fields.next().orMissing())
                    while fields.next() != nil {}
                    return time.seconds
                }
            }
        }
    }

    package var pem: String { PEMDocument(type: PEM.revocationListLabel, derBytes: der).pemString + "\n" }
}

extension CertificateAuthority {
    /// The list of the revoked provider certificates.
    ///
    /// - Parameters:
    ///   - revoked: serial numbers, and times in seconds since 1970.
    ///   - number: grows with every change of the list (RFC 5280, 5.2.3).
    ///   - now: seconds since 1970.
    package func providerRevocations(
        _ revoked: [(serial: CertificateSerial, moment: Double)],
        number: UInt64,
        now: Double,
    ) throws(TrustError) -> RevocationList {
        try TrustError.wrapping(.failed, "The revocation list could not be made.") {
            let unsigned = UnsignedRevocationList(
                issuer: providers.certificate.subject,
                made: now,
                entries: revoked,
                extensions: [
                    try Certificate.Extension(
                        AuthorityKeyIdentifier(keyIdentifier: providers.keyIdentifier.keyIdentifier), critical: false),
                    try Certificate.Extension(listNumber: number),
                ],
            )
            var content = DER.Serializer()
            try content.serialize(unsigned)
            let signature = try providers.signingKey.signature(for: content.serializedBytes).derRepresentation
            var list = DER.Serializer()
            try list.appendConstructedNode(identifier: .sequence) { coder in
                coder.serializeRawBytes(content.serializedBytes)
                try coder.serialize(ListSignatureAlgorithm())
                try coder.serialize(ASN1BitString(bytes: ArraySlice(signature)))
            }
            return RevocationList(der: list.serializedBytes)
        }
    }
}

/// TBSCertList (RFC 5280, 5.1.2), version 2.
private struct UnsignedRevocationList: DERSerializable {
    let issuer: DistinguishedName
    let made: Double
    let entries: [(serial: CertificateSerial, moment: Double)]
    let extensions: [Certificate.Extension]

    func serialize(into coder: inout DER.Serializer) throws {
        try coder.appendConstructedNode(identifier: .sequence) { coder in
            try coder.serialize(1)
            try coder.serialize(ListSignatureAlgorithm())
            try coder.serialize(issuer)
            try coder.serialize(ListTime(made))
            try coder.serialize(ListTime(made + RevocationList.life))
            // Absent if nothing is revoked (RFC 5280, 5.1.2.6).
            if !entries.isEmpty {
                try coder.appendConstructedNode(identifier: .sequence) { coder in
                    for entry in entries {
                        try coder.appendConstructedNode(identifier: .sequence) { coder in
                            coder.appendPrimitiveNode(identifier: .integer) {
                                $0.append(contentsOf: entry.serial.bytes)
                            }
                            try coder.serialize(ListTime(entry.moment))
                        }
                    }
                }
            }
            let tag = ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific)
            try coder.appendConstructedNode(identifier: tag) { coder in
                try coder.serializeSequenceOf(extensions)
            }
        }
    }
}

/// ecdsa-with-SHA256, which has no parameters (RFC 5758, 3.2).
private struct ListSignatureAlgorithm: DERSerializable {
    func serialize(into coder: inout DER.Serializer) throws {
        let identifier: ASN1ObjectIdentifier = [1, 2, 840, 10_045, 4, 3, 2]
        try coder.appendConstructedNode(identifier: .sequence) { try $0.serialize(identifier) }
    }
}

/// UTCTime until 2049, GeneralizedTime from then on (RFC 5280, 5.1.2.4).
private struct ListTime: DERSerializable {
    let seconds: Double

    init(_ seconds: Double) { self.seconds = seconds }

    func serialize(into coder: inout DER.Serializer) throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents(
            [.year, .month, .day, .hour, .minute, .second], from: Date(timeIntervalSince1970: seconds.rounded(.down)))
        guard let year = parts.year, let month = parts.month, let day = parts.day, let hour = parts.hour,
            let minute = parts.minute, let second = parts.second
        else { throw TrustError(.failed, "The time is not a valid date.") }
        if year < 2050 {
            let time = try UTCTime(
                year: year, month: month, day: day, hours: hour, minutes: minute, seconds: second)
            try coder.serialize(time)
        } else {
            let time = try GeneralizedTime(
                year: year, month: month, day: day, hours: hour, minutes: minute, seconds: second, fractionalSeconds: 0)
            try coder.serialize(time)
        }
    }
}

extension ListTime {
    init(derEncoded node: ASN1Node) throws {
        var parts = DateComponents()
        if node.identifier == .utcTime {
            let time = try UTCTime(derEncoded: node)
            (parts.year, parts.month, parts.day) = (time.year, time.month, time.day)
            (parts.hour, parts.minute, parts.second) = (time.hours, time.minutes, time.seconds)
        } else {
            let time = try GeneralizedTime(derEncoded: node)
            (parts.year, parts.month, parts.day) = (time.year, time.month, time.day)
            (parts.hour, parts.minute, parts.second) = (time.hours, time.minutes, time.seconds)
        }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        guard let date = calendar.date(from: parts) else {
            throw TrustError(.malformed, "The time is not a valid date.")
        }
        self.init(date.timeIntervalSince1970)
    }
}

extension ASN1Node? {
    /// - Throws: if there is no node.
    fileprivate func orMissing() throws -> ASN1Node {
        guard let self else { throw TrustError(.malformed, "The revocation list is too short.") }
        return self
    }
}

extension Certificate.Extension {
    /// The number of a list (RFC 5280, 5.2.3), not critical.
    fileprivate init(listNumber: UInt64) throws {
        var coder = DER.Serializer()
        try coder.serialize(listNumber)
        self.init(oid: [2, 5, 29, 20], critical: false, value: coder.serializedBytes[...])
    }
}
