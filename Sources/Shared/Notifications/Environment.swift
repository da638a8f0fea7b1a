/// Development or production. A device token or a certificate of one environment is refused by the other (Guide, 2.3.3,
/// 3.1.2).
public enum PushEnvironment: String, Sendable, Hashable, CaseIterable {
    case development
    case production

    private var isProduction: Bool {
        switch self {
        case .development: false
        case .production: true
        }
    }
}

/// The short name is for this package alone. The libraries export their types to apps, and SwiftUI has an `Environment`.
package typealias Environment = PushEnvironment

// Written by hand: the compiler's version compares and hashes the names (Swift 6.3), and every look-up of a push has an
// environment in its key.
extension PushEnvironment {
    public static func == (lhs: PushEnvironment, rhs: PushEnvironment) -> Bool { lhs.isProduction == rhs.isProduction }

    public func hash(into hasher: inout Hasher) { hasher.combine(isProduction) }
}
