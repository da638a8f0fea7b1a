/// The service that answers a connection.
package enum ServiceChoice<Service: Sendable>: Sendable {
    /// The same service for all connections.
    case always(Service)
    /// Selected by the client's first message, which is nil if it cannot be read.
    case byHello(@Sendable (ClientHello?) -> Service)
    /// Selected by the server name in the TLS handshake (RFC 6066, 3), which is nil if there is none.
    case byServerName(@Sendable (String?) -> Service)

    func service(for hello: ClientHello?) -> Service {
        switch self {
        case .always(let service): service
        case .byHello(let choose): choose(hello)
        case .byServerName(let choose): choose(hello?.serverName)
        }
    }
}
