import Notifications
import Trust

/// The sender of a request, as far as its connection shows.
enum ManagementCaller: Sendable, Hashable {
    /// A client on the Unix socket. The folder's permissions allowed it to connect.
    case socket
    /// A client over TCP. It needs the key.
    case network(isLoopback: Bool)
    /// A client over TLS; nil if it has no certificate.
    case certificate(AdministratorIdentity?)

    /// Whether the caller may make administrators. A certificate that could do so could make its own successor forever.
    var mayMakeAdministrators: Bool { self == .socket }
}
