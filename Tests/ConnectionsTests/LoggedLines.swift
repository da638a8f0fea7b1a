import Logging
import Synchronization

/// A log that keeps the metadata of each line.
final class LoggedLines: LogHandler {
    private let lines = Mutex<[Logger.Metadata]>([])
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .info }
        set {}
    }
    var all: [Logger.Metadata] { lines.withLock { $0 } }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) { lines.withLock { $0.append(event.metadata ?? [:]) } }
}
