package import Notifications

/// Which ports the listeners of each environment use.
package enum PortPlan: String, Sendable, CaseIterable {
    /// The Guide's ports for development (2.3.3, 3.1.1), and these plus 10,000 for production, so that both
    /// environments fit on one machine. The courier has the port that devices use.
    case standard
    /// The system chooses the ports. This is for tests, and for several services on one machine.
    case ephemeral
    /// The Guide's ports, shared by both environments. The server name in the TLS handshake selects the environment.
    /// This is for a machine that resolves Apple's host names to this service.
    case apple

    /// The kinds of listeners of an environment.
    package enum Listener: String, Sendable, CaseIterable {
        case provider
        case binary
        case feedback
        case courier

        /// The setting that chooses its port.
        package var setting: String { rawValue + "-port" }
    }

    /// The ports of a listener. The service announces the first one; with 0 the system chooses it.
    package func ports(_ listener: Listener, _ environment: Environment) -> [Int] {
        switch (self, listener) {
        case (.ephemeral, _): [0]
        case (.standard, .provider): [environment == .development ? 2197 : 12_197]
        case (.standard, .binary): [environment == .development ? 2195 : 12_195]
        case (.standard, .feedback): [environment == .development ? 2196 : 12_196]
        case (.standard, .courier): [environment == .development ? 5223 : 15_223]
        case (.apple, .provider): [443, 2197]
        case (.apple, .binary): [2195]
        case (.apple, .feedback): [2196]
        case (.apple, .courier): [5223]
        }
    }

    /// Reads the port of a listener: a number, for the first environment that is served, or `ENVIRONMENT=NUMBER`.
    static func port(
        _ text: String,
        of setting: String,
        in environments: [Environment],
    ) throws(ServiceError) -> (Environment, Int) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let environment = parts.count == 2 ? Environment(rawValue: String(parts[0])) : environments.first
        // fits: nil if it does not
        guard let environment, let port = parts.last.flatMap({ Int($0) }), (0...65_535).contains(port) else {
            throw ServiceError(
                .badSetting,
                "The setting \(setting) is \(text); it takes a port, or an environment and a port: production=443.")
        }
        return (environment, port)
    }

    /// The listener on whose port the management of broadcast channels is announced. Both protocols share the port:
    /// clients that offer HTTP/2 get the management of channels, others the legacy protocol. With Apple's ports, both
    /// legacy ports have it, and the feedback service's port is announced for production.
    func channels(_ environment: Environment) -> Listener {
        self == .apple && environment == .production ? .feedback : .binary
    }

    /// Whether the management of broadcast channels is on the listener's port.
    func hasChannels(_ listener: Listener) -> Bool { listener == .binary || self == .apple && listener == .feedback }

    /// Returns the environment for a server name: production for the names of Apple's production service, development
    /// for any other name and for a client without one.
    package static func environment(ofServerName name: String?) -> Environment {
        productionNames.contains(name?.lowercased() ?? "") ? .production : .development
    }

    static let productionNames = [
        "api.push.apple.com", "gateway.push.apple.com", "feedback.push.apple.com",
        "api-manage-broadcast.push.apple.com",
    ]
    private static let developmentNames = [
        "api.development.push.apple.com", "api.sandbox.push.apple.com", "gateway.sandbox.push.apple.com",
        "feedback.sandbox.push.apple.com", "api-manage-broadcast.sandbox.push.apple.com",
    ]

    /// The names that the server's certificate has to contain if the server name selects the environment.
    var serverNames: [String] { self == .apple ? Self.productionNames + Self.developmentNames : [] }
}
