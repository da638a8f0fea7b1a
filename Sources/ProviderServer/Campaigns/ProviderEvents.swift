import Logging
import ProviderStore

/// What the organisation wants to hear of: ended installations and messages.
struct ProviderEvents: Sendable {
    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    func installationsEnded(_ ids: [String], app: String, message: String) {
        logger.info(
            "Installations have ended",
            metadata: ["app": "\(app)", "message": "\(message)", "count": "\(ids.count)"])
    }

    func messageEnded(_ message: MessageRecord, app: String?) {
        guard let cause = message.cause else { return }
        logger.warning("A message was paused", metadata: ["message": "\(message.id)", "cause": "\(cause)"])
    }
}
