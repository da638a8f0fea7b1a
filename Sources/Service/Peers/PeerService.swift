package import Connections
import Credentials
package import Delivery
package import HTTP2
import NIOCore
import Notifications
package import Trust

/// Serves other nodes at the address where this node listens for them.
package final class PeerService: HTTP2Service {
    private let peers: Peers
    private let authority: CertificateAuthority
    private let clock: ServiceClock

    package init(_ peers: Peers, authority: CertificateAuthority, clock: ServiceClock) {
        self.peers = peers
        self.authority = authority
        self.clock = clock
    }

    static let configuration: HTTP2Configuration = {
        var configuration = HTTP2Configuration()
        // All records of a node travel on one stream, which never ends.
        configuration.limits.maxConcurrentStreams = 1
        configuration.limits.announcedConcurrentStreams = 1
        configuration.maxBodyBytes = nil
        // The limit allows a whole queue, because it is written at once.
        configuration.maxBufferedBytes = 32 << 20
        configuration.streamHighMark = 1 << 20
        configuration.streamLowMark = 1 << 18
        configuration.limits.streamWindowBytes = 1 << 20
        return configuration
    }()

    package func sessionConfiguration(for peer: NodeIdentity?) -> HTTP2Configuration { Self.configuration }

    /// Admits only nodes. Only a process that has the store's secrets can make a node's certificate.
    package func admit(_ chain: [[UInt8]]) throws -> NodeIdentity {
        let now = Double(clock.machineTime.milliseconds) / 1000
        guard case .node(let identity) = try authority.verifyPeer(chain: chain, as: .node, now: now) else {
            throw TrustError(.wrongUse, "The certificate is not a node's.")
        }
        return identity
    }

    package static func alert(for error: any Error) -> UInt8? { (error as? TrustError)?.tlsAlert }

    package func makeConnection(from peer: NodeIdentity?, on accepted: AcceptedConnection) -> any HTTP2Connection {
        PeerConnection(peers, isTrusted: peer != nil, eventLoop: accepted.channel.eventLoop)
    }
}
