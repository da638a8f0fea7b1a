/// One of the two worlds of the service, which share nothing: a token or a certificate made for one is refused by the
/// other (Guide, 2.3.3, 3.1.2).
package enum Environment: String, Sendable, Hashable, CaseIterable {
    case development
    case production

    /// Without the name, which the compiler's own would take (Swift 6.3): it is part of every key that a push looks up.
    package func hash(into hasher: inout Hasher) { hasher.combine(self == .production) }
}
