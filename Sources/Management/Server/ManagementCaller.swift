import Notifications
import Trust

/// The sender of a request, as far as the connection reveals it.
enum ManagementCaller: Sendable, Hashable {
    /// A client on the Unix socket. The folder's permissions allowed it to connect.
    case socket
    /// A client over TCP. It needs the key.
    case network(isLoopback: Bool)
    /// A client over TLS. The identity is nil if the client has no certificate.
    case certificate(AdministratorIdentity?)

    /// Whether the caller may make administrators' certificates. If the holder of a certificate could, access would
    /// never end: each certificate could make the next one.
    var mayMakeAdministrators: Bool { self == .socket }
}
