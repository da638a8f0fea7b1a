import BinaryAPI
import Connections
import HTTP2
import ProviderAPI
import Stage
import Trust

/// Serves two protocols on one port: the legacy protocol, and the management of broadcast channels over HTTP/2. The
/// protocols that a client offers in its TLS handshake (ALPN) decide which one it gets (docs/channels.md).
final class SharedPort<Legacy: CertifiedService>: ConnectionService {
    enum Service {
        case legacy(Legacy)
        case channels(HTTP2StageService<ChannelAPI>)
    }

    private let service: Service

    init(_ service: Service) { self.service = service }

    static var protocols: [String] { Legacy.protocols + ChannelAPI.protocols }

    static var buffers: ConnectionBuffers { ChannelAPI.buffers }

    static func alert(for error: any Error) -> UInt8? { Legacy.alert(for: error) }

    func admit(_ chain: [[UInt8]]) throws -> ProviderIdentity {
        switch service {
        case .legacy(let legacy): try legacy.admit(chain)
        case .channels(let channels): try channels.admit(chain)
        }
    }

    func open(_ accepted: AcceptedConnection, from peer: ProviderIdentity?) -> (any ServedConnection)? {
        switch service {
        case .legacy(let legacy): legacy.open(accepted, from: peer)
        case .channels(let channels): channels.open(accepted, from: peer)
        }
    }
}
