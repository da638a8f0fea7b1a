import Connections
import HTTP2
import NIOCore
import Notifications
import Trust

/// The administration over TLS, for those alone who present an administrator's certificate.
final class RemoteAdministration: HTTP2Service {
    /// A person's commands are one at a time.
    private static let concurrentStreams = 8

    private let administration: Administration

    init(_ administration: Administration) { self.administration = administration }

    func sessionConfiguration(for peer: AdministratorIdentity?) -> HTTP2Configuration {
        var configuration = administration.sessionConfiguration(for: nil)
        configuration.maxConcurrentStreams = Self.concurrentStreams
        configuration.announcedConcurrentStreams = Self.concurrentStreams
        return configuration
    }

    func admit(_ chain: [[UInt8]]) throws -> AdministratorIdentity {
        let now = Double(administration.clock().milliseconds) / 1000
        guard
            case .administrator(let identity) = try administration.authority.verifyPeer(
                chain: chain, as: .administrator, now: now)
        else { throw TrustError(.wrongUse, "The certificate is not an administrator's.") }
        return identity
    }

    func makeConnection(from peer: AdministratorIdentity?, on channel: any Channel) -> any HTTP2Connection {
        AdministrationConnection(
            administration: administration, administrator: .remote(peer), eventLoop: channel.eventLoop)
    }
}
