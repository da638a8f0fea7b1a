package import Notifications

/// Which ports the listeners of each environment take.
package enum PortPlan: String, Sendable, CaseIterable {
    /// Those of the guide for development, and the same plus 10,000 for production (2.3.3, 3.1.1), so that both fit one
    /// machine; the courier's is the one that devices use.
    case standard
    /// The system chooses: for tests, and for several services on one machine.
    case ephemeral

    /// What is listened for in each environment.
    package enum Listener: String, Sendable, CaseIterable {
        case provider
        case courier
    }

    /// - Returns: 0 where the system is to choose.
    package func port(_ listener: Listener, _ environment: Environment) -> Int {
        switch self {
        case .ephemeral: return 0
        case .standard:
            let port =
                switch listener {
                case .provider: 2197
                case .courier: 5223
                }
            return environment == .development ? port : port + 10_000
        }
    }
}
