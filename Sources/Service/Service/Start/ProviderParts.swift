import BinaryAPI
import Connections
import Delivery
import Foundation
import HTTP2
import Logging
import Matching
import Notifications
import ProviderAPI
import Stage
import Storage
import Trust
import Upstream

/// What providers connect to: the provider API, the management of broadcast channels, the binary API and the feedback
/// service.
struct ProviderParts: Sendable {
    let tokens: ProviderTokens
    let forwarder: UpstreamForwarder
    let heldSender: HeldSender
    let apis: [Environment: ProviderAPI]
    private let provider: ListenerOpening.Listeners
    private let binary: ListenerOpening.Listeners
    private let feedback: ListenerOpening.Listeners
    /// The listeners that have the management of broadcast channels.
    private let channels: [Environment: ListenerOpening.Listeners]

    var listeners: [Listener] { provider.all + binary.all + feedback.all }

    init(
        _ base: ServiceBase,
        delivery: Delivery,
        broadcasts: Broadcasts,
        grants: GrantParts,
        development: DevelopmentParts?,
        opening: ListenerOpening,
    ) async throws(ServiceError) {
        var random = SystemRandomNumberGenerator()
        let tokens = ProviderTokens(
            verifier: ProviderTokenVerifier(conformance: base.settings.conformance, using: &random),
            accounts: base.store, limitLog: base.limitLog)
        let grantGateway = GrantGateway(
            store: base.store.grantStore, meter: grants.meter, handleKey: grants.handleKey,
            upkeep: grants.upkeep, limits: base.settings.provider, endpoints: grants.endpoints)
        let forwarder = UpstreamForwarder(
            UpstreamVault(base.secrets.credentialSeal), variables: ProcessInfo.processInfo.environment,
            metrics: UpstreamMetrics(factory: base.metrics.factory), logger: base.logger, group: base.group,
            now: { [clock = base.clock] in clock.machineTime })
        let held = SealedHeldPushes(
            base.store, HeldSeal(base.secrets.credentialSeal), log: base.log.events, clock: base.clock)
        try await Self.sealClear(held, base)
        let apis = base.byEnvironment { environment in
            ProviderAPI(
                base, environment, tokens: tokens, delivery: delivery, broadcasts: broadcasts, grants: grantGateway,
                development: environment == .development ? development : nil, forwarder: forwarder, held: held)
        }
        let staged = apis.mapValues { HTTP2StageService($0, Self.stage(.http2, $0, base, development)) }
        let channelAPIs = apis.mapValues {
            HTTP2StageService(ChannelAPI(provider: $0), Self.stage(.channels, $0, base, development))
        }
        let connects = ConnectGuard(
            .providerConnectRate, base.settings.provider.perAddress, budget: base.budget, log: base.limitLog)
        provider = try await opening.open(.provider, staged, connects)
        binary = try await opening.openBinary(
            .binary,
            base.byEnvironment { BinaryAPI(base, $0, delivery, $0 == .development ? development : nil) },
            channels: channelAPIs, connects)
        feedback = try await opening.openBinary(
            .feedback,
            base.byEnvironment { environment in
                FeedbackService(
                    certificates: ProviderCertificates(
                        base, environment, environment == .development ? development : nil),
                    feedback: base.store, delivery: delivery,
                    limits: base.settings.binary)
            },
            channels: base.settings.ports.hasChannels(.feedback) ? channelAPIs : [:], connects)
        let (binary, feedback, ports) = (binary, feedback, base.settings.ports)
        channels = base.byEnvironment { ports.channels($0) == .feedback ? feedback : binary }
        self.tokens = tokens
        self.forwarder = forwarder
        heldSender = HeldSender(
            base.store, held, base.store.grantStore, forwarder, log: base.log.events, clock: base.clock)
        development?.setForwarder(forwarder)
        self.apis = apis
    }

    /// Encrypts the notifications that release 0.2.0 holds in clear.
    private static func sealClear(_ held: SealedHeldPushes, _ base: ServiceBase) async throws(ServiceError) {
        do throws(StoreError) {
            guard let trouble = try await held.sealClear() else { return }
            base.logger.warning(
                "What earlier releases have stored of held notifications could not be overwritten; the next start tries again",
                metadata: ["cause": "\(trouble.cause)"])
        } catch {
            throw ServiceError(.store, error.cause)
        }
    }

    /// What tests see of a provider API, and do to it; nil in production.
    private static func stage<API: HTTP2Service>(
        _ interface: ProviderInterface,
        _ api: ProviderAPI,
        _ base: ServiceBase,
        _ development: DevelopmentParts?,
    ) -> HTTP2StageService<API>.Stage? where API.Peer == ProviderIdentity {
        guard api.environment == .development, let development else { return nil }
        let accounts = base.store
        return HTTP2StageService<API>.Stage(
            development.observation, api.environment, interface, silence: base.settings.provider.uncheckedSilence
        ) { certificate in
            certificate.flatMap {
                accounts.current.team(ofCertificate: $0.serial, uid: $0.uid, foreignTeam: $0.foreignTeam)
            }
        }
    }

    /// The addresses of an environment.
    func addresses(
        _ environment: Environment, courier: String, webPush: String?
    ) -> ServiceDescription.Addresses {
        ServiceDescription.Addresses(
            provider: provider.address(environment),
            binary: binary.address(environment),
            feedback: feedback.address(environment),
            courier: courier,
            channels: channels[environment]?.address(environment) ?? "",
            webPush: webPush,
        )
    }
}

extension ProviderAPI {
    /// - Parameter development: nil in production.
    fileprivate convenience init(
        _ base: ServiceBase,
        _ environment: Environment,
        tokens: ProviderTokens,
        delivery: Delivery,
        broadcasts: Broadcasts,
        grants: GrantGateway,
        development: DevelopmentParts?,
        forwarder: UpstreamForwarder,
        held: any HeldPushes,
    ) {
        let settings = base.settings
        let name = GatewayName(of: base.secrets.credentialSeal.serviceName, environment)
        self.init(
            environment: environment, conformance: settings.conformance,
            environmentKeyReason: settings.environmentKeyReason, answerDetail: settings.answerDetail,
            authority: base.secrets.authority, tokens: tokens, tokenKeys: base.secrets.tokenKeys.keys,
            accounts: base.store, delivery: delivery, broadcasts: broadcasts, deliveryLog: base.log.events,
            names: development?.names, tokensByService: settings.tokensByService,
            firstSight: development?.acceptAny, acceptAnyFrom: settings.acceptAnyFrom,
            otherAddress: { [weak development] in development?.providerAddress(.production) },
            limits: settings.provider, limitLog: base.limitLog, clock: base.clock,
            forwarding: GatewayForwarding(
                port: forwarder, name: name, held: held, captures: development?.captures),
            grants: grants)
    }
}

extension BinaryAPI {
    /// - Parameter development: nil in production.
    fileprivate convenience init(
        _ base: ServiceBase,
        _ environment: Environment,
        _ delivery: Delivery,
        _ development: DevelopmentParts?,
    ) {
        self.init(
            certificates: ProviderCertificates(base, environment, development), conformance: base.settings.conformance,
            tokenKeys: base.secrets.tokenKeys.keys, delivery: delivery, deliveryLog: base.log.events,
            names: development?.names, tokensByService: base.settings.tokensByService,
            scenes: development.map { BinaryStages($0.observation, environment) },
            limits: base.settings.binary)
    }
}

extension ProviderCertificates {
    /// - Parameter development: nil in production.
    fileprivate init(_ base: ServiceBase, _ environment: Environment, _ development: DevelopmentParts?) {
        let clock = base.clock
        self.init(
            environment: environment, authority: base.secrets.authority, accounts: base.store,
            firstSight: development?.acceptAny, acceptAnyFrom: base.settings.acceptAnyFrom,
            clock: { clock.machineTime })
    }
}
