import Connections
import Delivery
import HTTP2
import NIOCore
import NIOPosix
import NIOSSL

/// Connects to one other node.
struct PeerCaller: Sendable {
    private let peers: Peers
    private let node: NodeID
    private let address: String
    private let group: any EventLoopGroup
    private let tls: @Sendable () throws -> NIOSSLContext

    init(
        _ peers: Peers,
        _ node: NodeID,
        _ address: String,
        group: any EventLoopGroup,
        tls: @escaping @Sendable () throws -> NIOSSLContext,
    ) {
        self.peers = peers
        self.node = node
        self.address = address
        self.group = group
        self.tls = tls
    }

    struct BadAddress: Error {}

    /// The connection ended before the other node's greeting.
    struct NoAnswer: Error {
        let end: SessionEnd

        fileprivate var cause: String {
            switch end {
            case .channelError(let error): ConnectionFailure.cause(of: error)
            case .closed: "it did not answer as that node"
            default: "\(end)"
            }
        }
    }

    static func cause(of error: any Error) -> String {
        switch error {
        case is BadAddress: "its address is not host:port"
        case let error as NoAnswer: error.cause
        default: ConnectionFailure.cause(of: error)
        }
    }

    func pause(after failures: Int) -> TimeAmount {
        GrowingDelay(first: peers.limits.firstPause, longest: peers.limits.lastPause)
            .delay(afterFailures: max(1, failures), random: .random(in: 0...1))
    }

    /// Opens a connection, and returns when the connection has ended. Throws if the other node has not greeted.
    func call() async throws {
        guard let (host, port) = address.hostAndPort else { throw BadAddress() }
        let (context, eventLoop) = (try tls(), group.next())
        let ended = eventLoop.makePromise(of: Void.self)
        let (peers, node) = (peers, node)
        let connecting = ClientBootstrap(group: eventLoop)
            .connectTimeout(peers.limits.connectTimeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    // All nodes have this name in their certificate. The greeting tells which node answers.
                    try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: "localhost"))
                    let connection = PeerConnection(peers, to: node, ended: ended)
                    try pipeline.addHandler(
                        HTTP2Session(
                            role: .client, configuration: PeerService.configuration, application: connection))
                }
            }
            .connect(host: host, port: port)
        let channel: any Channel
        do {
            channel = try await connecting.get()
        } catch {
            ended.succeed()
            throw error
        }
        try await withTaskCancellationHandler {
            try await ended.futureResult.get()
        } onCancel: {
            channel.close(promise: nil)
        }
    }
}
