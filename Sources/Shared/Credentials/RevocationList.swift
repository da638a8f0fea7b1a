import Foundation
import SwiftASN1

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
        return try TrustError.wrapping(.malformed, "The revocation list cannot be read.") {
            let list = try DER.parse(der)
            return try DER.sequence(list, identifier: .sequence) { parts in
                let content = try parts.next().orMissing()
                while parts.next() != nil {}
                return try DER.sequence(content, identifier: .sequence) { fields in
                    // The version, the algorithm and the issuer come first.
                    for _ in 0..<3 { _ = fields.next() }
                    let time = try seconds(of: try fields.next().orMissing())
                    while fields.next() != nil {}
                    return time
                }
            }
        }
    }

    /// Reads UTCTime or GeneralizedTime.
    private static func seconds(of node: ASN1Node) throws -> Double {
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
        return date.timeIntervalSince1970
    }

    package var pem: String { PEMDocument(type: PEM.revocationListLabel, derBytes: der).pemString + "\n" }
}

extension ASN1Node? {
    /// - Throws: if there is no node.
    fileprivate func orMissing() throws -> ASN1Node {
        guard let self else { throw TrustError(.malformed, "The revocation list is too short.") }
        return self
    }
}
