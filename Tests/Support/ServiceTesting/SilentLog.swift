import Logging

/// A log that keeps nothing but its metadata, which has the listeners' names.
struct SilentLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.critical

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {}
}
