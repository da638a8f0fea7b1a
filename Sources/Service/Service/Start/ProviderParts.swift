import BinaryGateway
import Connections
import Delivery
import Matching
import Notifications
import ProviderGateway
import Trust

/// What providers connect to: the provider API, the management of broadcast channels, the binary API and the feedback
/// service.
struct ProviderParts: Sendable {
    let tokens: ProviderTokens
    let gateways: [Environment: ProviderGateway]
    private let provider: ListenerOpening.Listeners
    private let binary: ListenerOpening.Listeners
    private let feedback: ListenerOpening.Listeners
    /// The listeners that have the management of broadcast channels.
    private let channels: [Environment: ListenerOpening.Listeners]

    var listeners: [Listener] { provider.all + binary.all + feedback.all }

    init(
        _ base: ServiceBase,
        _ delivery: Delivery,
        _ broadcasts: Broadcasts,
        _ development: DevelopmentParts?,
        _ opening: ListenerOpening,
    ) async throws(ServiceError) {
        var random = SystemRandomNumberGenerator()
        let tokens = ProviderTokens(
            verifier: ProviderTokenVerifier(conformance: base.settings.conformance, using: &random),
            accounts: base.store, limitLog: base.limitLog)
        let gateways = base.byEnvironment { environment in
            ProviderGateway(
                base, environment, tokens, delivery, broadcasts, environment == .development ? development : nil)
        }
        let channelGateways = gateways.mapValues { ChannelGateway(provider: $0) }
        let connects = ConnectGuard(
            .providerConnectRate, base.settings.providerConnects, budget: base.budget, log: base.limitLog)
        provider = try await opening.open(.provider, gateways, connects)
        binary = try await opening.openBinary(
            .binary,
            base.byEnvironment { BinaryGateway(base, $0, delivery, $0 == .development ? development : nil) },
            channels: channelGateways, connects)
        feedback = try await opening.openBinary(
            .feedback,
            base.byEnvironment { environment in
                FeedbackService(
                    certificates: ProviderCertificates(base, environment), feedback: base.store, delivery: delivery,
                    limits: base.settings.binary)
            },
            channels: base.settings.ports.hasChannels(.feedback) ? channelGateways : [:], connects)
        let (binary, feedback, ports) = (binary, feedback, base.settings.ports)
        channels = base.byEnvironment { ports.channels($0) == .feedback ? feedback : binary }
        self.tokens = tokens
        self.gateways = gateways
    }

    /// The addresses of an environment.
    func addresses(_ environment: Environment, courier: String) -> ServiceDescription.Addresses {
        ServiceDescription.Addresses(
            provider: provider.address(environment),
            binary: binary.address(environment),
            feedback: feedback.address(environment),
            courier: courier,
            channels: channels[environment]?.address(environment) ?? "",
        )
    }
}

extension ProviderGateway {
    /// - Parameter development: nil in production.
    fileprivate convenience init(
        _ base: ServiceBase,
        _ environment: Environment,
        _ tokens: ProviderTokens,
        _ delivery: Delivery,
        _ broadcasts: Broadcasts,
        _ development: DevelopmentParts?,
    ) {
        let settings = base.settings
        self.init(
            environment: environment, conformance: settings.conformance,
            environmentKeyReason: settings.environmentKeyReason, answerDetail: settings.answerDetail,
            authority: base.secrets.authority, tokens: tokens, tokenKeys: base.secrets.tokenKeys.keys,
            accounts: base.store, delivery: delivery, broadcasts: broadcasts, deliveryLog: base.log.events,
            names: development?.names, tokensByService: settings.tokensByService, observation: development?.observation,
            limits: settings.provider, limitLog: base.limitLog, clock: base.clock)
    }
}

extension BinaryGateway {
    /// - Parameter development: nil in production.
    fileprivate convenience init(
        _ base: ServiceBase,
        _ environment: Environment,
        _ delivery: Delivery,
        _ development: DevelopmentParts?,
    ) {
        self.init(
            certificates: ProviderCertificates(base, environment), conformance: base.settings.conformance,
            tokenKeys: base.secrets.tokenKeys.keys, delivery: delivery, deliveryLog: base.log.events,
            names: development?.names, tokensByService: base.settings.tokensByService,
            observation: development?.observation,
            limits: base.settings.binary)
    }
}

extension ProviderCertificates {
    fileprivate init(_ base: ServiceBase, _ environment: Environment) {
        let clock = base.clock
        self.init(
            environment: environment, authority: base.secrets.authority, accounts: base.store,
            clock: { clock.machineTime })
    }
}
