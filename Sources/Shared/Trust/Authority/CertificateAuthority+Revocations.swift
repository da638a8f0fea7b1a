package import Credentials
import Crypto
import Foundation
package import Notifications
import SwiftASN1
import X509

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

extension Certificate.Extension {
    /// The number of a list (RFC 5280, 5.2.3), not critical.
    fileprivate init(listNumber: UInt64) throws {
        var coder = DER.Serializer()
        try coder.serialize(listNumber)
        self.init(oid: [2, 5, 29, 20], critical: false, value: coder.serializedBytes[...])
    }
}
