import Connections
package import Delivery
package import Matching
package import Notifications
package import Trust

/// The binary API of one environment (Guide, 3.1 and 3.2), which listens on port 2195.
package final class BinaryAPI: CertifiedService {
    package let certificates: ProviderCertificates
    let rules: BinaryRules
    let delivery: Delivery
    let deliveryLog: any DeliveryLog
    /// What tests see and disturb of the connections; nil if they may not.
    let scenes: (any BinaryScenes)?
    package let limits: BinaryLimits

    /// - Parameters:
    ///   - deliveryLog: records the notifications that are refused before `Delivery` sees them.
    ///   - names: device tokens that tests have named; nil outside the development environment.
    ///   - tokensByService: whether an app's own device token does not serve the topics of its services.
    ///   - scenes: what tests see and disturb; nil outside the development environment.
    package init(
        certificates: ProviderCertificates,
        conformance: Conformance,
        tokenKeys: SharedTokenKeys,
        delivery: Delivery,
        deliveryLog: any DeliveryLog = NoDeliveryLog(),
        names: NamedTokens? = nil,
        tokensByService: Bool = false,
        scenes: (any BinaryScenes)? = nil,
        limits: BinaryLimits = BinaryLimits(),
    ) {
        self.certificates = certificates
        rules = BinaryRules(
            environment: certificates.environment, conformance: conformance, tokenKeys: tokenKeys,
            names: names, tokensByService: tokensByService)
        self.delivery = delivery
        self.deliveryLog = deliveryLog
        self.scenes = scenes
        self.limits = limits
    }

    package var refusesConnection: Bool { scenes?.refusesConnection ?? false }

    package func makeConnection(
        from identity: ProviderIdentity,
        on channel: CertifiedChannel,
    ) -> any CertifiedConnection {
        BinaryConnection(api: self, identity: identity, channel: channel)
    }
}
