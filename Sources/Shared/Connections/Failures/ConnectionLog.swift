package import Logging
package import NIOCore
import Synchronization

/// The log's lines about the connections of one listener: at most one for each connection, and a limited number of each
/// message, so that a client that connects again and again cannot fill the disk.
package final class ConnectionLog: Sendable {
    private let logger: Logger
    /// The listener's name.
    private let listener: String
    private let limits: LimitLog?
    private let rates = Mutex(LineRates<String>())

    /// The largest size of a cause in a line, in bytes. A cause may contain parts of a certificate.
    private static let maximumCauseBytes = 500

    /// - Parameters:
    ///   - logger: has the listener's name as its metadata `listener`.
    ///   - limits: counts malformed requests.
    package init(_ logger: Logger, limits: LimitLog? = nil) {
        self.logger = logger
        self.limits = limits
        listener = logger[metadataKey: "listener"]?.description ?? ""
        limits?.countMalformed(listener, 0)
    }

    /// Counts and logs a request that nobody can answer or pass on, because it breaks a rule of HTTP.
    /// - Parameter rule: the rule, without bytes of the peer.
    package func malformedRequest(peer: SocketAddress?, rule: () -> String) {
        limits?.countMalformed(listener, 1)
        report("A request was malformed", peer: peer, cause: rule)
    }

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
