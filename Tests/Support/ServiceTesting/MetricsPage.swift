import CommonTesting

/// The metrics, read over the Unix socket.
extension TestService {
    /// Reads the metrics until they show that the limit was exceeded.
    func metricsSay(_ limit: String) async throws {
        let prefix = "carillon_limits_exceeded_total{limit=\"\(limit)\"} "
        try await wait(while: try await count(prefix) == 0)
    }

    /// The number that follows a prefix on the page.
    private func count(_ prefix: String) async throws -> Int {
        let line = String(decoding: try await manage("GET", "/metrics").body, as: UTF8.self).split(separator: "\n")
            .first { $0.hasPrefix(prefix) }
        return try required(Int(try required(line).dropFirst(prefix.count)))
    }
}
