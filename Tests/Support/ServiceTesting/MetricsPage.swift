/// The metrics, read over the Unix socket.
extension TestService {
    /// Reads the metrics until they show that the limit was exceeded.
    func metricsSay(_ limit: String) async throws {
        let prefix = "carillon_limits_exceeded_total{limit=\"\(limit)\"} "
        while true {
            // This loop needs no delay, because reading the page is a round trip in which other tasks can run.
            let line = String(decoding: try await manage("GET", "/metrics").body, as: UTF8.self).split(separator: "\n")
                .first { $0.hasPrefix(prefix) }
            if let count = Int(try required(line).dropFirst(prefix.count)), count > 0 { return }
        }
    }
}
