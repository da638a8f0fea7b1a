package import Rates

/// The limits of servers' sessions and of their requests.
extension Limit {
    /// ``FloodGuard``.
    package static let flood = Limit("flood")
    /// A request did not end in time: ``OverdueRequest``.
    package static let requestTimeout = Limit("request-timeout")
    /// A connection was without a request for too long.
    package static let idleTimeout = Limit("idle-timeout")

    /// A client opened more streams than the service announced, after it had acknowledged the number.
    package static let concurrentStreams = Limit("concurrent-streams")

    package static let ofHTTP2: [Limit] = [.flood, .requestTimeout, .idleTimeout, .concurrentStreams]
}
