import Notifications
import X509

extension CertificateSerial {
    /// - Returns: nil unless it is a serial that we could have given.
    init?(_ number: Certificate.SerialNumber) { self.init(bytes: number.bytes) }

    var number: Certificate.SerialNumber { Certificate.SerialNumber(bytes: bytes) }
}
