/// One of the two worlds of the service, which share nothing: a token or a certificate made for one is refused by the
/// other (Guide, 2.3.3, 3.1.2).
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

// It is part of every key that a push looks up, and the compiler would compare and hash the names (Swift 6.3).
extension Environment {
    package static func == (lhs: Environment, rhs: Environment) -> Bool { lhs.isProduction == rhs.isProduction }

    package func hash(into hasher: inout Hasher) { hasher.combine(isProduction) }
}
