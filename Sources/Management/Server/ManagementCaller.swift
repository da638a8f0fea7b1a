import Notifications
import Trust

/// Who asks, as far as the connection says.
enum ManagementCaller: Sendable, Hashable {
    /// Somebody who may open the Unix socket, by the permissions of its folder.
    case socket
    /// Somebody over TCP, who has to show the key.
    case network(isLoopback: Bool)
    /// Somebody over TLS; nil without a certificate.
    case certificate(AdministratorIdentity?)

    /// Whether the caller may make administrators: a certificate that could make its successor would be good for ever.
    var mayMakeAdministrators: Bool { self == .socket }
}
