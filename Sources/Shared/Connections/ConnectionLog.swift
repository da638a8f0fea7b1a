import Logging
import NIOCore
import Synchronization

/// The log's lines about the connections of one listener: at most one for each connection, and a limited number of each
/// message, so that a client that connects again and again cannot fill the disk.
final class ConnectionLog: Sendable {
    private let logger: Logger
    private let rates = Mutex(LineRates<String>())

    /// The largest size of a cause in a line, in bytes. A cause may contain parts of a certificate.
    private static let maximumCauseBytes = 500

    init(_ logger: Logger) { self.logger = logger }

    /// - Parameters:
    ///   - message: a constant text, because the rate of each message is limited and remembered.
    ///   - cause: computed only if the line is logged.
    func report(_ message: String, peer: SocketAddress?, cause: () -> String) {
        let suppressed = rates.withLock { $0.admit(message, at: NIODeadline.now().uptimeNanoseconds) }
        guard let suppressed else { return }
        let cause = String(decoding: cause().utf8.prefix(Self.maximumCauseBytes), as: UTF8.self)
        logger.info(
            "\(message)",
            metadata: [
                "peer": .string(peer?.host ?? ""), "cause": .string(cause),
                "not-logged-before": .stringConvertible(suppressed),
            ])
    }
}
