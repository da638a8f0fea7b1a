public import Foundation
import NIOSSL

extension DeviceIdentity {
    /// When the device's certificate begins and ends; nil where it cannot be read.
    public var validity: DateInterval? {
        // What cannot be read has no life; the connection says why it cannot.
        try? DeviceCredentials.ownCertificate(chainPEM).validity
    }

    /// When two thirds of the certificate's life are over: from then on a connected device renews it.
    public var renewalDate: Date? { validity?.renewalDate }
}

extension DateInterval {
    /// The part of a certificate's life after which it is renewed. A third of a year is left then: a device that is
    /// switched off for a season still comes back in time.
    private static let renewalShare = 2.0 / 3

    /// When a certificate of this life is renewed.
    var renewalDate: Date { start.addingTimeInterval(duration * Self.renewalShare) }

    /// What is wrong with the time, as far as a certificate of this life tells: for people, when a connection was
    /// refused.
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
