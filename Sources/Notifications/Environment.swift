/// One of the two worlds of the service, which share nothing: a token or a certificate made for one is refused by the
/// other (Guide, 2.3.3, 3.1.2).
package enum Environment: String, Sendable, Hashable, CaseIterable {
    case development
    case production
}
