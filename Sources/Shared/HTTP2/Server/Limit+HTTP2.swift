package import Rates

/// The limits of servers' sessions and of their requests.
extension Limit {
    /// ``FloodGuard``.
    package static let flood = Limit("flood")
    /// A request did not end in time: ``OverdueRequest``.
    package static let requestTimeout = Limit("request-timeout")
    /// A connection was without a request for too long.
    package static let idleTimeout = Limit("idle-timeout")

    package static let ofHTTP2: [Limit] = [.flood, .requestTimeout, .idleTimeout]
}
