package import Notifications

/// A new certificate for its holder.
package struct IssuedCertificate: Sendable {
    /// The certificate alone, in PEM. The service knows its own intermediates, so its clients need no more.
    package let certificatePEM: String
    /// The intermediate that signed it, in PEM.
    package let intermediatePEM: String
    /// The certificate and then the intermediate. A peer that knows only the root needs both.
    package var chainPEM: String { certificatePEM + intermediatePEM }
    /// The private key (PKCS#8 PEM) if it was made here; nil if the holder kept it.
    package let keyPEM: String?
    package let serial: CertificateSerial
    /// Seconds since 1970.
    package let validUntil: Double
}
