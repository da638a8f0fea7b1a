package import Notifications

/// A new certificate for its holder.
package struct IssuedCertificate: Sendable {
    /// The certificate and then the intermediate that signed it, in PEM. A peer needs this and the root.
    package let chainPEM: String
    /// The private key (PKCS#8 PEM) if it was made here; nil if the holder kept it.
    package let keyPEM: String?
    package let serial: CertificateSerial
    /// Seconds since 1970.
    package let validUntil: Double
}
