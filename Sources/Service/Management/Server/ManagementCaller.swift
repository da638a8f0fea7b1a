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

    /// Whether the caller may revoke administrators' certificates that are not listed. If the holder of a certificate
    /// could, it could fill the list with serial numbers that nobody has, and then nobody could revoke its own.
    var mayRevokeUnlistedAdministrators: Bool { self == .socket }
}
