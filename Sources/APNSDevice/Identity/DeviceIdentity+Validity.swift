public import Foundation
import NIOSSL

extension DeviceIdentity {
    /// The part of a certificate's life after which it is renewed. A third of a year is left then: a device that is
    /// switched off for a season still comes back in time.
    static let renewalShare = 2.0 / 3

    /// When the device's certificate begins and ends; nil where it cannot be read.
    public var validity: DateInterval? {
        // What cannot be read has no life; the connection says why it cannot.
        guard let certificate = (try? NIOSSLCertificate.fromPEMBytes(Array(chainPEM.utf8)))?.first else { return nil }
        let start = Date(timeIntervalSince1970: Double(certificate.notValidBefore))
        let end = Date(timeIntervalSince1970: Double(certificate.notValidAfter))
        return start <= end ? DateInterval(start: start, end: end) : nil
    }

    /// When two thirds of the certificate's life are over: from then on a connected device renews it.
    public var renewalDate: Date? {
        validity.map { $0.start.addingTimeInterval($0.duration * Self.renewalShare) }
    }

    /// What is wrong with the time, as far as the certificate tells: for people, when a connection was refused.
    func clockHint(at moment: Date) -> String? {
        guard let validity else { return nil }
        let now = moment.formatted(.iso8601)
        if moment < validity.start {
            return "this device's clock says \(now), which is before its own certificate was made: it is wrong"
        }
        if moment > validity.end {
            return "by this device's clock, \(now), its certificate ended at \(validity.end.formatted(.iso8601))"
        }
        return nil
    }
}
