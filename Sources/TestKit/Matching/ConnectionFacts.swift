package import Notifications

/// A new connection of a provider as the journal and rehearsals see it: what is known when the client's first message of
/// the TLS handshake has come.
package struct ConnectionFacts: Sendable, Hashable {
    /// The connection's number. The service counts the connections of providers from 1.
    package var number: UInt64
    package var environment: Environment
    package var interface: ProviderInterface
    /// The name in the handshake (RFC 6066, 3); nil if there is none.
    package var serverName: String?
    /// The client's IP address; empty if the system does not know it.
    package var host: String
    package var port: Int?
    /// What a rehearsal did to the handshake; nil if nothing.
    package var fault: HandshakeFault?
    /// The rehearsal's rule, if there is a fault.
    package var rule: String?
    /// Whether the service refuses the client by its first message, so that no rehearsal is about it.
    package var isRefused = false

    package init(
        number: UInt64,
        environment: Environment,
        interface: ProviderInterface,
        serverName: String? = nil,
        host: String = "",
        port: Int? = nil,
    ) {
        self.number = number
        self.environment = environment
        self.interface = interface
        self.serverName = serverName
        self.host = host
        self.port = port
    }

    /// The client's address and port.
    package var address: String {
        guard let port else { return host }
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// What distinguishes clients before they have said who they are.
    package struct Client: Sendable, Hashable {
        package var host: String
        package var serverName: String?
        package var environment: Environment
        package var interface: ProviderInterface
    }

    package var client: Client {
        Client(host: host, serverName: serverName?.lowercased(), environment: environment, interface: interface)
    }
}

/// How a TLS handshake ended.
package enum HandshakeResult: Sendable, Hashable {
    case completed
    /// The client sent a fatal alert: its name in RFC 8446, 6, such as `unknown_ca`.
    case alert(String)
    /// The client ended the connection without an alert.
    case clientEnded
    /// The service ended the connection, because of a rehearsal or because the handshake took too long.
    case serviceEnded
    /// The client does not speak HTTP/2: it offered only these other protocols (RFC 7301), or none and then sent a request
    /// of HTTP/1.
    case withoutHTTP2(offered: [String])
    /// The client ended the connection after the handshake, before it spoke. Some clients, such as Node.js, check the
    /// certificate only then.
    case leftUnused
    /// Something else, in words for a person.
    case failed(String)

    /// Whether the handshake itself was completed, and the connection failed after it.
    package var isAfterHandshake: Bool {
        switch self {
        case .leftUnused, .withoutHTTP2(offered: []): true
        case .completed, .alert, .clientEnded, .serviceEnded, .withoutHTTP2, .failed: false
        }
    }

    /// The protocols that the client offered in place of HTTP/2; empty if it offered none; nil if this is not the cause.
    package var offered: [String]? {
        guard case .withoutHTTP2(let offered) = self else { return nil }
        return offered
    }

    /// The name of the alert that the client sent; nil if it sent none.
    package var alert: String? {
        guard case .alert(let name) = self else { return nil }
        return name
    }

    /// Why the handshake failed, in words for a person; nil if it did not.
    package var cause: String? {
        switch self {
        case .completed: nil
        case .alert(let name): "the client sent the alert \(name)"
        case .clientEnded: "the client ended the connection without an alert"
        case .serviceEnded: "the service ended the connection"
        case .withoutHTTP2(offered: []): "the client speaks HTTP/1, and APNs speaks HTTP/2 only"
        case .withoutHTTP2(let offered): "the client offers \(Self.shown(offered)) and not HTTP/2 (h2)"
        case .leftUnused: "the client ended the connection after the handshake, before it spoke HTTP/2"
        case .failed(let cause): cause
        }
    }

    /// A client offers one or two. The names come from outside, so only the beginning is shown.
    private static let (maximumOffered, maximumOfferedBytes) = (4, 32)

    private static func shown(_ offered: [String]) -> String {
        offered.prefix(maximumOffered).map { String($0.prefix(maximumOfferedBytes)) }.joined(separator: ", ")
    }
}

/// A TLS handshake that failed or that a rehearsal disturbed, and its result.
package struct HandshakeRecord: Sendable, Hashable {
    package var connection: ConnectionFacts
    package var result: HandshakeResult
    /// The number of the journal's entry, if the handshake failed.
    package var number: UInt64?
    /// Whether a handshake of the same client was completed later, without a fault.
    package var cameBack = false

    package init(_ connection: ConnectionFacts, _ result: HandshakeResult, number: UInt64? = nil) {
        self.connection = connection
        self.result = result
        self.number = number
    }
}

extension RequestMatch {
    /// Whether the match selects this new connection. A match that names any value of a request selects no connection.
    package func matches(_ connection: ConnectionFacts) -> Bool {
        var others = self
        (others.environment, others.interface, others.serverName) = (nil, nil, nil)
        if let environment, connection.environment != environment { return false }
        if let interface, connection.interface != interface { return false }
        if let serverName, connection.serverName?.lowercased() != serverName { return false }
        return others.isEmpty
    }
}
