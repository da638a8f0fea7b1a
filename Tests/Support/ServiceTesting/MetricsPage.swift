import CommonTesting

/// The metrics, read over the Unix socket.
extension TestService {
    /// Reads the metrics until they show that the limit was exceeded.
    func metricsSay(_ limit: String) async throws {
        try await metricCounts("carillon_limits_exceeded_total{limit=\"\(limit)\"}")
    }

    /// Reads the metrics until this one is greater than zero.
    func metricCounts(_ name: String) async throws {
        try await wait(while: try await metric(name) ?? 0 == 0)
    }

    /// Reads a metric that counts; nil if there is none of this name.
    func metric(_ name: String) async throws -> Int? {
        let line = String(decoding: try await manage("GET", "/metrics").body, as: UTF8.self).split(separator: "\n")
            .first { $0.hasPrefix(name + " ") }
        return line.flatMap { Int($0.dropFirst(name.count + 1)) }
    }
}
