package import Notifications

/// Which ports the listeners of each environment use.
package enum PortPlan: String, Sendable, CaseIterable {
    /// For development the Guide's ports, and for production the same plus 10,000, so that both fit on one machine
    /// (2.3.3, 3.1.1). The courier has the port that devices use.
    case standard
    /// The system chooses the ports: for tests, and for several services on one machine.
    case ephemeral
    /// The Guide's ports for both environments together. The name in the TLS handshake selects the environment. For a
    /// machine whose resolver sends Apple's names here.
    case apple

    /// The kinds of listeners of an environment.
    package enum Listener: String, Sendable, CaseIterable {
        case provider
        case binary
        case feedback
        case courier
    }

    /// The ports of a listener. The first is announced; 0 lets the system choose.
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

    /// The listener whose port the management of channels is announced on. Clients that offer HTTP/2 get it there, others
    /// the legacy protocol. With Apple's ports it is on both of the legacy ones, and its production is known by the port
    /// of feedback.
    func channels(_ environment: Environment) -> Listener {
        self == .apple && environment == .production ? .feedback : .binary
    }

    /// Whether a listener's port has the management of channels.
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

    /// The names that the server's certificate needs if clients select the environment by name.
    var serverNames: [String] { self == .apple ? Self.productionNames + Self.developmentNames : [] }
}
