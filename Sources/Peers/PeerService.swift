package import Connections
package import Delivery
package import HTTP2
import NIOCore
import Notifications
package import Trust

/// What answers other nodes on this one's address for them.
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
        // The records of a node are one stream that does not end.
        configuration.maxConcurrentStreams = 1
        configuration.announcedConcurrentStreams = 1
        configuration.maxBodyBytes = nil
        // A whole queue is written at once.
        configuration.maxBufferedBytes = 32 << 20
        configuration.streamHighMark = 1 << 20
        configuration.streamLowMark = 1 << 18
        configuration.streamWindowBytes = 1 << 20
        return configuration
    }()

    package func sessionConfiguration(for peer: NodeIdentity?) -> HTTP2Configuration { Self.configuration }

    /// Admits only nodes: whoever has the secrets of the store can make such a certificate.
    package func admit(_ chain: [[UInt8]]) throws -> NodeIdentity {
        let now = Double(clock.machineTime.milliseconds) / 1000
        guard case .node(let identity) = try authority.verifyPeer(chain: chain, as: .node, now: now) else {
            throw TrustError(.wrongUse, "The certificate is not a node's.")
        }
        return identity
    }

    package func makeConnection(from peer: NodeIdentity?, on accepted: AcceptedConnection) -> any HTTP2Connection {
        PeerConnection(peers, isTrusted: peer != nil, eventLoop: accepted.channel.eventLoop)
    }
}
