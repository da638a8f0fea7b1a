public import Foundation
import NIOSSL

extension DeviceIdentity {
    /// The validity period of the device's certificate; nil if the certificate cannot be read.
    public var validity: DateInterval? {
        // The error does not matter here: connecting with this identity reports it.
        try? DeviceCredentials.ownCertificate(chainPEM).validity
    }

    /// Checks that the certificate and the key can be used, and belong together.
    /// - Throws: ``DeviceError/Code/badIdentity``.
    package func check() throws(DeviceError) { _ = try DeviceCredentials(self) }

    /// The time from which a connected device renews its certificate: after two thirds of its validity period. nil
    /// if the certificate cannot be read.
    public var renewalDate: Date? { validity?.renewalDate }
}

extension DateInterval {
    /// The part of the validity period after which a certificate is renewed. A certificate for a year then
    /// has four months left, so a device that was switched off for some months can still renew it.
    private static let renewalShare = 2.0 / 3

    /// The time from which a certificate with this validity period is renewed.
    var renewalDate: Date { start.addingTimeInterval(duration * Self.renewalShare) }

    /// Returns a sentence for a person if the device's clock does not fit the certificate's validity period; used
    /// when a connection was refused.
    func clockHint(at moment: Date) -> String? {
        let now = moment.formatted(.iso8601)
        if moment < start {
            return "this device's clock says \(now), which is before its own certificate was made: it is wrong"
        }
        if moment > end {
            return "by this device's clock, \(now), its certificate ended at \(end.formatted(.iso8601))"
        }
        return nil
    }
}
