import Connections
import Credentials
import Delivery
import Foundation
import Logging
import Management
import NIOCore
import NIOSSL
import Notifications
import Peers
import Rates
import Storage
import Trust

/// The way to the other nodes that use the store.
struct PeerParts: Sendable {
    let peers: Peers
    let cluster: any ClusterNodes
    /// Where other nodes call this one; nil if they cannot.
    let listener: Listener?
    /// The certificate of that listener.
    let certificate: ServerCertificate?
    /// The address that the other nodes are told; nil if they cannot call this one.
    let address: String?
}

extension PeerParts {
    /// How long other nodes have to answer. A node's answer takes a few milliseconds, unless its log is large.
    private static let patience = Duration.seconds(5)
    /// How long they have if they answer from memory. It is shorter, because a person waits for each page.
    private static let devicePatience = Duration.seconds(2)

    /// Asks all other nodes for what they have logged about a notification.
    /// - Throws: if the store cannot be asked, because nobody can then say which nodes there are.
    func otherLogs(of id: NotificationID) async throws(StoreError) -> OtherLogs {
        let nodes = try await cluster.nodes().filter { $0.id != cluster.node }
        let answers = await peers.log(of: id, at: nodes.map(\.id), within: Self.patience)
        return OtherLogs(
            lines: answers.values.flatMap(\.self), unanswered: nodes.filter { answers[$0.id] == nil }.map(\.name))
    }

    /// Asks the other nodes which of these devices are connected to them.
    /// - Parameter leftOut: the names of nodes that are not asked.
    func otherDevices(
        among devices: [DeviceKey],
        leavingOut leftOut: Set<String>,
    ) async throws(StoreError) -> OtherDevices {
        let nodes = try await cluster.nodes().filter { node in
            // The lease of a node that is gone has run out, so it holds no devices.
            node.id != cluster.node && node.state != .gone && !leftOut.contains(node.name)
        }
        let answers = await peers.connected(among: devices, at: nodes.map(\.id), within: Self.devicePatience)
        var connected: [DeviceKey: ConnectedDevice] = [:]
        for device in answers.values.joined() {
            // While a device changes its node, two nodes may hold a stream of it. The newer one counts.
            if let other = connected[device.key], other.since >= device.since { continue }
            connected[device.key] = device
        }
        return OtherDevices(
            connected: connected, unanswered: nodes.filter { answers[$0.id] == nil }.map(\.name))
    }

    /// Answers what other nodes ask for, from now on.
    func answerQuestions(_ log: DeliveryLogSource, _ switchboard: LocalSwitchboard) {
        peers.answerLogQuestions { try await log.lines(of: $0, limit: ManagementLimits.entriesOfOne) }
        peers.answerDeviceQuestions { switchboard.connected(among: $0) }
    }
}

/// Opens the listener for other nodes, and tells them where it is.
struct PeerOpening {
    let base: ServiceBase

    /// - Parameter origin: what this node's offers are named by.
    /// - Returns: nil if no other service uses the store.
    func open(_ lines: LineParts, origin: OfferOrigin) async throws(ServiceError) -> PeerParts? {
        guard let cluster = base.store.cluster, let switchboard = lines.shared else { return nil }
        let parts = try await open(cluster, origin: origin)
        parts.peers.report(to: switchboard)
        switchboard.use(parts.peers)
        lines.broadcasts.use(parts.peers)
        return parts
    }

    private func open(_ cluster: any ClusterNodes, origin: OfferOrigin) async throws(ServiceError) -> PeerParts {
        let (authority, clock) = (base.secrets.authority, base.clock)
        let peers = Peers(
            node: cluster.node, origin: origin, isReachable: base.settings.peer != nil, group: base.group,
            logger: base.logger
        ) { try Self.context(authority, now: clock.machineTime) }
        guard let peer = base.settings.peer else {
            return PeerParts(peers: peers, cluster: cluster, listener: nil, certificate: nil, address: nil)
        }
        let certificate = try ServerCertificate(.authority(authority, names: []), now: clock.machineTime)
        let listener = try await listen(PeerService(peers, authority: authority, clock: clock), at: peer, certificate)
        let address = base.settings.peerAddress?.text ?? listener.hostAndPort
        do throws(StoreError) {
            try await cluster.announce(peer: address)
        } catch {
            await listener.shutDown(within: .zero)
            throw ServiceError(.store, error.cause)
        }
        return PeerParts(
            peers: peers, cluster: cluster, listener: listener, certificate: certificate, address: address)
    }

    private func listen(
        _ service: PeerService,
        at address: ListenAddress,
        _ certificate: ServerCertificate,
    ) async throws(ServiceError) -> Listener {
        var logger = base.logger
        logger[metadataKey: "listener"] = "peer"
        // Nodes have no rate: those that come back are called by all others at once. Several may have the same address.
        let connects = ConnectGuard(
            Limit("peer-connect-rate"), ConnectLimits(connects: .unlimited, open: OpenFiles.forNodes / 2),
            budget: ConnectionBudget(limit: OpenFiles.forNodes), log: base.limitLog)
        do {
            return try await Listener.bind(
                .always(service), to: .tcp(host: address.host, port: address.port),
                tls: { certificate.context(.http2) },
                limits: base.settings.listener, connects: connects, group: base.group, logger: logger)
        } catch {
            throw ServiceError(
                .cannotListen,
                "The address \(address.text) for other nodes cannot be opened (\(ConnectionFailure.cause(of: error))); "
                    + "name another with --peer.")
        }
    }

    /// The TLS of a call to another node, with a new certificate of this one.
    private static func context(_ authority: CertificateAuthority, now: Timestamp) throws -> NIOSSLContext {
        var random = SystemRandomNumberGenerator()
        let issued = try authority.issueNodeCertificate(now: Double(now.milliseconds) / 1000, using: &random)
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.applicationProtocols = ["h2"]
        let certificates = { (pem: String) in
            try PEM(pem).certificates.map { try NIOSSLCertificate(bytes: $0, format: .der) }
        }
        tls.trustRoots = .certificates(try certificates(authority.rootPEM))
        tls.certificateChain = try certificates(issued.chainPEM).map { .certificate($0) }
        tls.privateKey = .privateKey(
            try NIOSSLPrivateKey(bytes: PEM(issued.keyPEM ?? "").privateKey, format: .der))
        tls.shutdownTimeout = .seconds(1)
        return try NIOSSLContext(configuration: tls)
    }
}
