import NIOCore
import NIOPosix
import Service

/// What Prometheus reads, read by hand.
extension TestService {
    /// Reads the metrics until they say that the limit struck.
    func metricsSay(_ limit: String) async throws {
        let prefix = "carillon_limits_struck_total{limit=\"\(limit)\"} "
        while true {
            // A round trip each time: nobody is kept from striking meanwhile.
            let line = try await metrics().split(separator: "\n").first { $0.hasPrefix(prefix) }
            if let count = Int(try required(line).dropFirst(prefix.count)), count > 0 { return }
        }
    }

    private func metrics() async throws -> String {
        let parts = try required(description.metrics).split(separator: ":")
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: String(parts[0]), port: required(Int(parts[1]))) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(
                ByteBuffer(string: "GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"))
            var text = ""
            for try await buffer in inbound { text += String(buffer: buffer) }
            return text
        }
    }
}
