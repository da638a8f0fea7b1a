package import Notifications

/// The requests of one connection that were not processed because the service was ending it: they came above the last
/// stream of a GOAWAY, or were refused before it. The journal has none of them.
package struct UnprocessedRequests: Sendable, Hashable {
    /// The connection's number.
    package var connection: UInt64
    package var environment: Environment
    /// The team of the connection's requests; nil if none was processed.
    package var team: TeamID?
    /// The number of the connection's newest request in the journal; 0 if it has none. What is sent again has a greater
    /// number.
    package var after: UInt64
    /// What was sent to whom, as ``fingerprint(token:body:)``. Equal requests are here several times.
    package var fingerprints: [Int]
    /// The number of further requests, of which the path or the body is not known.
    package var unknown: Int

    package init(
        connection: UInt64,
        environment: Environment,
        team: TeamID?,
        after: UInt64,
        fingerprints: [Int],
        unknown: Int,
    ) {
        self.connection = connection
        self.environment = environment
        self.team = team
        self.after = after
        self.fingerprints = fingerprints
        self.unknown = unknown
    }

    /// Stands for the device token and the payload of a request, in little memory. White space does not count. The values
    /// hold for this process only.
    package static func fingerprint(token: String, body: some Sequence<UInt8>) -> Int {
        var hasher = Hasher()
        hasher.combine(token)
        for byte in body where byte > UInt8(ascii: " ") { hasher.combine(byte) }
        return hasher.finalize()
    }
}

extension RequestMatch {
    /// Whether the match selects the requests of this connection. A match that names any other value of a request selects
    /// none.
    package func matches(_ unprocessed: UnprocessedRequests) -> Bool {
        matches(
            UnusedConnection(
                number: unprocessed.connection, environment: unprocessed.environment, interface: .http2,
                team: unprocessed.team))
    }
}
