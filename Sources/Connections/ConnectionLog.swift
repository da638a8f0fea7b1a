import Logging
import NIOCore
import Synchronization

/// The log's lines about the connections of one listener. There is at most one for each connection, and of each message
/// only so many: whoever connects again and again does not fill the disk.
final class ConnectionLog: Sendable {
    private let logger: Logger
    private let rates = Mutex(LineRates<String>())

    /// In bytes of what a line says of a cause: parts of a certificate may be in it.
    private static let maximumCauseBytes = 500

    init(_ logger: Logger) { self.logger = logger }

    /// - Parameters:
    ///   - message: one of a fixed number.
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
