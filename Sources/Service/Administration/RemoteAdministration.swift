import HTTP2
import NIOCore
import Notifications
import Trust

/// The administration over TLS, for those alone who present an administrator's certificate.
final class RemoteAdministration: HTTP2Service {
    private let administration: Administration

    init(_ administration: Administration) { self.administration = administration }

    func sessionConfiguration(for peer: CertificateSerial?) -> HTTP2Configuration {
        administration.sessionConfiguration(for: nil)
    }

    func admit(_ chain: [[UInt8]]) throws -> CertificateSerial {
        let now = Double(administration.clock().milliseconds) / 1000
        return try administration.authority.verifyPeer(chain: chain, as: .administrator, now: now).serial
    }

    func makeConnection(from peer: CertificateSerial?, on channel: any Channel) -> any HTTP2Connection {
        AdministrationConnection(
            administration: peer == nil ? nil : administration, eventLoop: channel.eventLoop)
    }
}
