import Notifications
import X509

extension CertificateSerial {
    /// - Returns: nil unless our authority could have given out this number.
    init?(_ number: Certificate.SerialNumber) { self.init(bytes: number.bytes) }

    var number: Certificate.SerialNumber { Certificate.SerialNumber(bytes: bytes) }
}
