/// The service that answers a connection.
package enum ServiceChoice<Service: Sendable>: Sendable {
    /// The same service for all connections.
    case always(Service)
    /// Selected by the server name in the TLS handshake (RFC 6066, 3), which is nil if there is none.
    case byServerName(@Sendable (String?) -> Service)

    func service(named name: String?) -> Service {
        switch self {
        case .always(let service): service
        case .byServerName(let choose): choose(name)
        }
    }
}
