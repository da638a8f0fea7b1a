/// Development or production. A token or a certificate of one environment is refused by the other (Guide, 2.3.3,
/// 3.1.2).
package enum Environment: String, Sendable, Hashable, CaseIterable {
    case development
    case production

    private var isProduction: Bool {
        switch self {
        case .development: false
        case .production: true
        }
    }
}

// Written by hand: the compiler's version compares and hashes the names (Swift 6.3), and every look-up of a push has an
// environment in its key.
extension Environment {
    package static func == (lhs: Environment, rhs: Environment) -> Bool { lhs.isProduction == rhs.isProduction }

    package func hash(into hasher: inout Hasher) { hasher.combine(isProduction) }
}
