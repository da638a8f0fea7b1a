import BinaryGateway
import Connections
import HTTP2
import ProviderGateway
import Trust

/// A port that was the legacy protocol's, and has the management of broadcast channels too: what a client offers in its
/// TLS handshake (ALPN) decides (docs/channels.md).
final class SharedPort<Legacy: CertifiedService>: ConnectionService {
    enum Service {
        case legacy(Legacy)
        case channels(ChannelGateway)
    }

    private let service: Service

    init(_ service: Service) { self.service = service }

    /// Clients of the legacy protocol offer none.
    static func refusal(of hello: ClientHello) -> String? {
        hello.offersHTTP2 ? nil : Legacy.refusal(of: hello)
    }

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
