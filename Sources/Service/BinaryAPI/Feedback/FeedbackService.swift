import Connections
package import Delivery
import NIOCore
package import Trust

/// The feedback service of one environment (Guide, 3.1.3), which listens on port 2196.
package final class FeedbackService: CertifiedService {
    package let certificates: ProviderCertificates
    let feedback: any Feedback
    let delivery: Delivery
    package let limits: BinaryLimits

    package init(
        certificates: ProviderCertificates,
        feedback: any Feedback,
        delivery: Delivery,
        limits: BinaryLimits = BinaryLimits(),
    ) {
        self.certificates = certificates
        self.feedback = feedback
        self.delivery = delivery
        self.limits = limits
    }

    package func makeConnection(
        from identity: ProviderIdentity,
        on channel: CertifiedChannel,
    ) -> any CertifiedConnection {
        FeedbackConnection(service: self, identity: identity, channel: channel)
    }
}
