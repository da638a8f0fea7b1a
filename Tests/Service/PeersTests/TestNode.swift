import CommonTesting
import Connections
import Delivery
import Foundation
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Notifications
import Synchronization
import Trust

@testable import Peers

/// A node with nothing but its connections to others.
final class TestNode: Sendable {
    let id: NodeID
    let peers: Peers
    let receiver = TestReceiver()
    let port: Int
    private let authority: CertificateAuthority
    private let listener: Listener

    /// Offers begin at once.
    static var limits: PeerLimits {
        var limits = PeerLimits()
        limits.settling = .zero
        return limits
    }

    static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    static func makeAuthority() throws -> CertificateAuthority {
        var random = SeededGenerator.random()
        return try CertificateAuthority.create(now: Date().timeIntervalSince1970, using: &random)
    }

    /// - Parameter logger: the one for calls to other nodes.
    init(
        _ number: UInt8,
        _ authority: CertificateAuthority,
        _ limits: PeerLimits,
        logger: Logger = TestNode.logger,
    ) async throws {
        self.authority = authority
        id = NodeID(bytes: [number])
        let group = MultiThreadedEventLoopGroup.singleton
        peers = Peers(
            node: id, origin: OfferOrigin(rawValue: UInt64(number)), isReachable: true, limits: limits, group: group,
            logger: logger
        ) { try Self.context(authority) }
        var random = SeededGenerator.random()
        let issued = try authority.issueServerCertificate(
            names: [], now: Date().timeIntervalSince1970, using: &random)
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(issued.chainPEM.utf8)).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array((issued.keyPEM ?? "").utf8), format: .pem)))
        tls.trustRoots = .certificates([])
        tls.applicationProtocols = ["h2"]
        tls.certificateVerification = .optionalVerification
        let context = try NIOSSLContext(configuration: tls)
        let service = PeerService(peers, authority: authority, clock: ServiceClock { .now() })
        listener = try await Listener.bind(
            .always(service), to: .tcp(host: "127.0.0.1", port: 0), tls: { context }, group: group, logger: Self.logger)
        port = listener.localAddress?.port ?? 0
        peers.report(to: receiver)
    }

    /// A connected device, as a node that is asked answers.
    static func connected(_ key: DeviceKey) -> ConnectedDevice {
        ConnectedDevice(key: key, since: Timestamp(milliseconds: 5), power: .low, held: [:])
    }

    var clusterNode: ClusterNode {
        ClusterNode(id: id, name: "node", peer: "127.0.0.1:\(port)", state: .active)
    }

    func close() async {
        peers.close()
        await listener.shutDown(within: .seconds(1))
    }

    /// The TLS of a call, with a node's certificate.
    func context() throws -> NIOSSLContext { try Self.context(authority) }

    private static func context(_ authority: CertificateAuthority) throws -> NIOSSLContext {
        try context(authority) { authority, random in
            let issued = try authority.issueNodeCertificate(now: Date().timeIntervalSince1970, using: &random)
            return (issued.chainPEM, issued.keyPEM ?? "")
        }
    }

    func context(
        _ issue: (CertificateAuthority, inout SeededGenerator) throws -> (chain: String, key: String)
    ) throws -> NIOSSLContext {
        try Self.context(authority, issue)
    }

    private static func context(
        _ authority: CertificateAuthority,
        _ issue: (CertificateAuthority, inout SeededGenerator) throws -> (chain: String, key: String),
    ) throws -> NIOSSLContext {
        var random = SeededGenerator.random()
        let (chain, key) = try issue(authority, &random)
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.applicationProtocols = ["h2"]
        tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(authority.rootPEM.utf8)))
        tls.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(chain.utf8)).map { .certificate($0) }
        tls.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem))
        return try NIOSSLContext(configuration: tls)
    }
}

extension Moment {
    static func now() -> Moment {
        Moment(
            time: Timestamp(milliseconds: UInt64(Date().timeIntervalSince1970 * 1000)),
            uptime: Uptime(nanoseconds: DispatchTime.now().uptimeNanoseconds))
    }
}

/// Records what other nodes send.
final class TestReceiver: PeerReceiver {
    private let list = Mutex<[String]>([])
    /// The answer to offers; nil if the outcome comes later.
    let answer = Mutex<PeerOutcome?>(nil)

    /// Returns what has come, when that is at least so much.
    func events(_ count: Int) async throws -> [String] {
        try await wait(while: list.withLock(\.count) < count)
        return list.withLock { $0 }
    }

    func offered(_ offer: Offer, epoch: UInt64) -> PeerOutcome? {
        list.withLock { $0.append("offer \(offer.id?.number ?? 0) \(epoch)") }
        return answer.withLock { $0 }
    }

    func refused(_ offer: Offer) { list.withLock { $0.append("refused \(offer.id?.number ?? 0)") } }

    func stored(_ entry: StoredMailboxEntry, offer: OfferID?, epoch: UInt64) {
        list.withLock { $0.append("stored \(entry.version.rawValue) \(epoch)") }
    }

    func broadcast(_ broadcast: PeerBroadcast) {
        let version = broadcast.version.map { "\($0.rawValue)" } ?? "unstored"
        list.withLock { $0.append("broadcast \(broadcast.channel.id) \(version)") }
    }

    func ended(_ offer: OfferID, of destination: Destination, _ outcome: PeerOutcome) {
        list.withLock { $0.append("\(offer.number) \(outcome)") }
    }
}

/// A TCP proxy that can stop passing bytes on without closing anything, and go on.
final class StoppingProxy: Sendable {
    private let listener: any Channel
    private let state = Mutex(State())
    private let channels = Mutex<[any Channel]>([])
    let port: Int

    init(to target: Int) async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        let box = ProxyBox()
        listener = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                box.proxy?.channels.withLock { $0.append(channel) }
                let promise = channel.eventLoop.makePromise(of: Void.self)
                ClientBootstrap(group: channel.eventLoop).connect(host: "127.0.0.1", port: target).whenComplete {
                    result in
                    switch result {
                    case .failure(let error): promise.fail(error)
                    case .success(let there):
                        box.proxy?.channels.withLock { $0.append(there) }
                        promise.completeWithTask {
                            try await channel.pipeline.addHandler(PassOn(box, there)).get()
                            try await there.pipeline.addHandler(PassOn(box, channel)).get()
                        }
                    }
                }
                return promise.futureResult
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = listener.localAddress?.port ?? 0
        box.set(self)
    }

    private struct State {
        var isStopped = false
        /// What came meanwhile, with the channels to which it goes.
        var waiting: [(bytes: ByteBuffer, there: any Channel)] = []
    }

    func stop() { state.withLock { $0.isStopped = true } }

    /// Passes on what has come since it was stopped, and everything after it.
    func goOn() {
        state.withLock { state in
            state.isStopped = false
            for (bytes, there) in state.waiting { there.writeAndFlush(bytes, promise: nil) }
            state.waiting = []
        }
    }

    private func pass(_ bytes: ByteBuffer, to there: any Channel) {
        state.withLock { state in
            if state.isStopped {
                state.waiting.append((bytes, there))
            } else {
                there.writeAndFlush(bytes, promise: nil)
            }
        }
    }

    func close() async throws {
        for channel in channels.withLock({ $0 }) + [listener] { try? await channel.close() }
    }

    fileprivate final class ProxyBox: Sendable {
        private let held = Mutex<Weak>(Weak())
        private struct Weak { weak var proxy: StoppingProxy? }
        var proxy: StoppingProxy? { held.withLock { $0.proxy } }
        func set(_ proxy: StoppingProxy) { held.withLock { $0.proxy = proxy } }
    }

    private final class PassOn: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        private let box: ProxyBox
        private let there: any Channel

        init(_ box: ProxyBox, _ there: any Channel) {
            self.box = box
            self.there = there
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            box.proxy?.pass(unwrapInboundIn(data), to: there)
        }
    }
}
