import SwiftASN1

/// The object identifiers that our certificates use beyond those of RFC 5280.
enum CertificateIdentifiers {
    /// The user ID of a subject (RFC 4519, 2.39): the bundle ID in a provider certificate.
    static let userID: ASN1ObjectIdentifier = [0, 9, 2342, 19_200_300, 100, 1, 1]

    /// Marks a provider certificate for the development environment.
    static let developmentMarker: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 1]
    /// Marks a provider certificate for the production environment.
    static let productionMarker: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 2]
    /// Lists the topics of a provider certificate (Guide, 2.3.2).
    static let topics: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 6]

    /// Our own extension with the holder's role (``CertificateRole``).
    ///
    /// 1.3.6.1.4.1.32473 is the enterprise number for examples and documentation (RFC 5612), so no product uses it. An
    /// identifier made from a UUID (2.25) would be unique, but swift-asn1 cannot read an arc of 128 bits.
    static let role: ASN1ObjectIdentifier = [1, 3, 6, 1, 4, 1, 32473, 1, 1]
}
