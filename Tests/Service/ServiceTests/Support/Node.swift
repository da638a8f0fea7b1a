import CommonTesting
import Connections
import Courier
import Credentials
import Crypto
import Delivery
import DeliveryTesting
import Foundation
import HTTP2
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Notifications
import ProviderAPI
import SQLiteStore
import Storage
import Synchronization
import Trust

@testable import Service
@testable import ServiceTesting

/// What the nodes of a cluster share: one store, and an account in it.
final class Nodes: Sendable {
    let store: any Store
    let authority: CertificateAuthority
    let providerToken: String
    let certificate: ClientCertificate
    private let rootFile: String
    private let listeners = Mutex<[Listener]>([])

    /// Runs nodes while `body` runs.
    /// - Parameter isShared: whether the store says that several nodes use it.
    static func run(isShared: Bool = true, _ body: (Nodes) async throws -> Void) async throws {
        try await withTemporaryPath { path in
            let nodes = try await Nodes(rootFile: path, isShared: isShared)
            try await withCleanUp {
                try await body(nodes)
            } cleanUp: {
                for listener in nodes.listeners.withLock({ $0 }) { await listener.shutDown(within: .seconds(1)) }
            }
        }
    }

    private init(rootFile: String, isShared: Bool) async throws {
        self.rootFile = rootFile
        store = NodeStore(inner: try SQLiteStore.inMemory(), isShared: isShared)
        var random = SystemRandomNumberGenerator()
        let now = Date().timeIntervalSince1970
        authority = try CertificateAuthority.create(now: now, using: &random)
        try Data(authority.rootPEM.utf8).write(to: URL(fileURLWithPath: rootFile))
        let (team, bundleID) = (Team(id: .random(using: &random), name: "Team"), try Self.bundleID)
        let (key, keyID) = (P256.Signing.PrivateKey(), KeyID.random(using: &random))
        let certificateKey = P256.Signing.PrivateKey()
        let issued = try authority.issueProviderCertificate(
            request: Array(SigningRequest.pem(for: certificateKey).utf8), bundleID: bundleID,
            environments: [.development], now: now, using: &random)
        let changes: [AccountChange] = [
            .createTeam(team), .createApp(bundleID: bundleID, team: team.id),
            .createKey(
                TeamKey(
                    id: keyID, team: team.id, publicKey: Array(key.publicKey.x963Representation),
                    environments: [.development])),
            .createCertificate(
                TeamCertificate(
                    serial: issued.serial, team: team.id, bundleID: bundleID, environments: [.development],
                    validUntil: Timestamp(milliseconds: .max))),
        ]
        for change in changes { _ = try await store.apply(change) }
        providerToken = try ProviderToken.sign(key: key, keyID: keyID, teamID: team.id, issuedAt: UInt64(now))
        certificate = ClientCertificate(chainPEM: issued.chainPEM, keyPEM: certificateKey.pemRepresentation)
    }

    static var bundleID: BundleID { get throws { try required(BundleID(rawValue: "com.example.app")) } }

    /// Makes a certificate of a new device.
    func makeDevice() throws -> ClientCertificate {
        var random = SystemRandomNumberGenerator()
        let key = P256.Signing.PrivateKey()
        let issued = try authority.issueDeviceCertificate(
            request: Array(SigningRequest.pem(for: key).utf8), device: DeviceID(rawValue: random.next()),
            environment: .development, now: Date().timeIntervalSince1970, using: &random)
        return ClientCertificate(chainPEM: issued.chainPEM, keyPEM: key.pemRepresentation)
    }

    /// Starts a node.
    func start() async throws -> Node {
        let node = try await Node(self)
        listeners.withLock { $0 += [node.provider, node.courier] }
        return node
    }

    func connect(_ listener: Listener, _ certificate: ClientCertificate? = nil) async throws -> WireClient {
        try await WireClient.connect(
            port: try required(listener.localAddress?.port), authorityFile: rootFile, certificate: certificate)
    }
}

/// A store that says whether several nodes use it.
private struct NodeStore: ForwardingStore {
    let inner: any Store
    let isShared: Bool
}

/// A node: the gateways of one process, with a store that other nodes use too.
struct Node: Sendable {
    let accounts: CutOffAccounts
    let secrets: WatchedSecrets
    let tokenKeys: TokenKeyRotation
    let log = AcceptanceLog()
    let delivery: Delivery
    let provider: Listener
    let courier: Listener
    private let nodes: Nodes

    fileprivate init(_ nodes: Nodes) async throws {
        self.nodes = nodes
        let (store, accounts) = (nodes.store, CutOffAccounts(nodes.store))
        self.accounts = accounts
        secrets = WatchedSecrets(store.secrets, isShared: store.isShared)
        tokenKeys = try await TokenKeyRotation.load(from: secrets, isFirstStart: true)
        secrets.questions.withLock { $0 = [] }
        let clock = ServiceClock { .now() }
        let switchboard = LocalSwitchboard(mailboxes: store, log: log, clock: { .now() })
        var random = SystemRandomNumberGenerator()
        delivery = Delivery(
            accounts: accounts, registrations: store, mailboxes: store, switchboard: switchboard, feedback: store,
            origin: .random(using: &random), log: log, clock: clock)
        let broadcasts = Broadcasts(channels: store.broadcastChannels, accounts: accounts, clock: clock)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let limitLog = LimitLog(logger) { _ in }
        let tls = try Self.tls(nodes.authority)
        func listen(_ service: some HTTP2Service) async throws -> Listener {
            try await Listener.bind(
                .always(service), to: .tcp(host: "127.0.0.1", port: 0), tls: { tls },
                group: MultiThreadedEventLoopGroup.singleton, logger: logger)
        }
        provider = try await listen(
            ProviderAPI(
                environment: .development, conformance: .apple, authority: nodes.authority,
                tokens: ProviderTokens(
                    verifier: ProviderTokenVerifier(conformance: .apple, using: &random), accounts: accounts,
                    limitLog: limitLog),
                tokenKeys: tokenKeys.keys, accounts: accounts, delivery: delivery, broadcasts: broadcasts,
                limitLog: limitLog, clock: clock))
        courier = try await listen(
            Courier(
                environment: .development, authority: nodes.authority, tokenKeys: tokenKeys.keys, accounts: accounts,
                registrations: store, switchboard: switchboard, broadcasts: broadcasts, seen: SeenDevices(),
                activations: Activations(invitations: store),
                limitLog: limitLog, clock: clock))
    }

    private static func tls(_ authority: CertificateAuthority) throws -> NIOSSLContext {
        var random = SystemRandomNumberGenerator()
        let issued = try authority.issueServerCertificate(
            names: ["localhost", "127.0.0.1"], now: Date().timeIntervalSince1970, using: &random)
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(issued.chainPEM.utf8)).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(required(issued.keyPEM).utf8), format: .pem)))
        tls.applicationProtocols = ["h2"]
        tls.certificateVerification = .optionalVerification
        return try NIOSSLContext(configuration: tls)
    }

    /// Registers the app on a device, and returns its device token.
    func register(_ device: ClientCertificate) async throws -> String {
        let client = try await nodes.connect(courier, device)
        let answer = try await client.send(Self.headers("PUT", "/1/apps/com.example.app"), body: "")
        await client.close()
        return try required(answer.body.split(separator: "\"").dropFirst(3).first.map(String.init))
    }

    /// Makes a provider's connection that has already sent a notification with its provider token.
    func connectProvider() async throws -> WireClient { try await nodes.connect(provider) }

    func connectProvider(_ certificate: ClientCertificate) async throws -> WireClient {
        try await nodes.connect(provider, certificate)
    }

    func connectCourier(_ device: ClientCertificate) async throws -> WireClient {
        try await nodes.connect(courier, device)
    }

    /// The headers of a push.
    func push(_ deviceToken: String, id: String? = nil) -> [(String, String)] {
        ProviderHeaders(deviceToken, token: nodes.providerToken).with("apns-id", id).fields
    }

    static func headers(_ method: String, _ path: String) -> [(String, String)] {
        [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
    }
}

/// Secrets that record which names were requested. A test can make them slow or unreachable.
final class WatchedSecrets: Secrets {
    private struct State {
        var isReachable = true
        var isHeld = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// The requested names.
    let questions = Mutex<[SecretName]>([])
    let isShared: Bool
    private let secrets: any Secrets
    private let state = Mutex(State())

    init(_ secrets: any Secrets, isShared: Bool) {
        self.secrets = secrets
        self.isShared = isShared
    }

    func reach(_ isReachable: Bool) { state.withLock { $0.isReachable = isReachable } }

    /// Makes each request wait from now on, until ``release()``.
    func hold() { state.withLock { $0.isHeld = true } }

    func release() {
        let waiting = state.withLock { state in
            state.isHeld = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func secret(_ name: SecretName) async throws(StoreError) -> [UInt8]? {
        questions.withLock { $0.append(name) }
        await withCheckedContinuation { continuation in
            let passes = state.withLock { state in
                if state.isHeld { state.waiting.append(continuation) }
                return !state.isHeld
            }
            if passes { continuation.resume() }
        }
        guard state.withLock({ $0.isReachable }) else { throw StoreError(.unavailable, "A test wants it so.") }
        return try await secrets.secret(name)
    }

    func keep(_ value: [UInt8], as name: SecretName) async throws(StoreError) -> [UInt8] {
        try await secrets.keep(value, as: name)
    }

    func nameStream() -> AsyncStream<SecretName> { secrets.nameStream() }
}

/// The accepted notifications, in their order.
final class AcceptanceLog: DeliveryLog {
    private let all = Mutex<[NotificationID]>([])

    var accepted: [NotificationID] { all.withLock { $0 } }

    func record(_ event: DeliveryEvent) {
        if event.step == .accepted { all.withLock { $0.append(event.subject.id) } }
    }
}
