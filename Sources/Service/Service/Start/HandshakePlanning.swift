import Connections
import Logging
import Matching
import NIOCore
import Notifications

/// Plans the TLS handshakes of providers' connections: it shows them to the observers of the development environment, and
/// carries out the faults of rehearsals.
struct HandshakePlanning: Sendable {
    let certificate: ServerCertificate
    /// The tools for tests; nil if the service does not serve the development environment.
    let development: DevelopmentParts?
    let logger: Logger

    /// The longest server name that is recorded, in characters. DNS has none that is longer.
    private static let nameLength = 255

    /// - Parameters:
    ///   - hello: the client's first message; nil if it cannot be read.
    ///   - remote: the client's address.
    func plan(
        _ kind: ServerCertificate.Kind,
        _ hello: ClientHello?,
        from remote: SocketAddress?,
        to environment: Environment,
        _ interface: ProviderInterface,
    ) -> HandshakePlan {
        var plan = HandshakePlan(certificate.context(kind))
        guard environment == .development, let development, development.observation.isActive else { return plan }
        var connection = ConnectionFacts(
            number: 0, environment: environment, interface: interface,
            serverName: hello?.serverName.map { String($0.prefix(Self.nameLength)) },
            host: remote?.host ?? "", port: remote?.port)
        connection.isRefused = interface == .http2 && hello?.offersOnlyOthers == true
        let observer = development.observation.observer
        observer.connecting(&connection)
        if let fault = connection.fault {
            do {
                plan.context = try development.certificates.context(kind, fault)
            } catch {
                // Go on with the service's own certificate. The journal must not show a fault that did not happen.
                logger.error(
                    "A rehearsal's certificate cannot be made", metadata: ["cause": "\(DataFolder.reason(error))"])
                (connection.fault, connection.rule) = (nil, nil)
            }
            plan.disturbance = Self.disturbance(connection.fault)
        }
        plan.observation = ObservedHandshake(connection, observer)
        return plan
    }

    private static func disturbance(_ fault: HandshakeFault?) -> HandshakePlan.Disturbance? {
        guard case .disturbance(let disturbance) = fault else { return nil }
        switch disturbance {
        case .slow: return .delay(.nanoseconds(HandshakeFault.slowness.nanoseconds))
        case .reset: return .reset
        case .hang: return .silence(.nanoseconds(RequestFault.longest.nanoseconds))
        }
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

/// The handshake of one connection, as its observer sees it.
private struct ObservedHandshake: HandshakeObservation {
    private let facts: ConnectionFacts
    private let observer: any RequestObserver

    init(_ facts: ConnectionFacts, _ observer: any RequestObserver) {
        self.facts = facts
        self.observer = observer
    }

    var number: UInt64 { facts.number }
    var serverName: String? { facts.serverName }

    func ended(_ end: HandshakeEnd) {
        let result: HandshakeResult =
            switch end {
            case .completed: .completed
            case .alert(let name): .alert(name)
            case .clientEnded: .clientEnded
            case .serviceEnded: .serviceEnded
            case .withoutHTTP2(let offered): .withoutHTTP2(offered: offered)
            case .leftUnused: .leftUnused
            case .failed(let cause): .failed(cause)
            }
        observer.handshakeEnded(facts, result)
    }
}
