package import Notifications

/// A provider's connection that ended without a request.
package struct UnusedConnection: Sendable, Hashable {
    /// The connection's number.
    package var number: UInt64
    package var environment: Environment
    package var interface: ProviderInterface
    /// The team of the connection's certificate; nil if it has none.
    package var team: TeamID?

    package init(number: UInt64, environment: Environment, interface: ProviderInterface, team: TeamID?) {
        self.number = number
        self.environment = environment
        self.interface = interface
        self.team = team
    }
}

extension RequestMatch {
    /// Whether the match selects this connection. A match that names any value of a request selects no connection.
    package func matches(_ connection: UnusedConnection) -> Bool {
        var others = self
        (others.team, others.environment, others.interface) = (nil, nil, nil)
        if let team, connection.team != team { return false }
        if let environment, connection.environment != environment { return false }
        if let interface, connection.interface != interface { return false }
        return others.isEmpty
    }
}
