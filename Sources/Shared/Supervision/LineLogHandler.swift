import Foundation
import Logging
import Notifications
import PrivateFiles

/// Writes each log event to standard error, as one line.
package struct LineLogHandler: LogHandler {
    enum Style {
        /// One JSON object for each event.
        case json
        /// Text for systemd's journal. It begins with the level in angle brackets, which the journal removes and stores
        /// (sd-daemon(3)), and has no time, because the journal adds it.
        case journal
    }

    var logLevel: Logger.Level = .info
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    private let style: Style
    private let label: String
    private let now: @Sendable () -> Date
    private let write: @Sendable (String) -> Void

    init(
        _ style: Style,
        label: String,
        now: @escaping @Sendable () -> Date = { Date() },
        write: @escaping @Sendable (String) -> Void = { try? FileHandle.standardError.write(contentsOf: Data($0.utf8)) },
    ) {
        self.style = style
        self.label = label
        self.now = now
        self.write = write
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var all = metadata
        for more in [metadataProvider?.get(), event.metadata] {
            if let more { all.merge(more) { _, new in new } }
        }
        if let error = event.error { all["error"] = "\(error)" }
        write((style == .json ? json(event, all) : journal(event, all)) + "\n")
    }

    private func json(_ event: LogEvent, _ metadata: Logger.Metadata) -> String {
        let texts = [
            ("time", now().formatted(Self.time)), ("level", event.level.rawValue), ("logger", label),
            ("message", "\(event.message)"),
        ]
        var members = texts.map { "\"\($0)\":\(JSONString.quoted($1))" }
        if !metadata.isEmpty { members.append("\"metadata\":" + Self.json(.dictionary(metadata))) }
        return "{\(members.joined(separator: ","))}"
    }

    private func journal(_ event: LogEvent, _ metadata: Logger.Metadata) -> String {
        let values = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        return "<\(event.level.priority)>\(Self.onOneLine("\(event.message)\(values)"))"
    }

    /// Replaces control characters with spaces. Values may come from strangers. If an event had several lines, they could
    /// add events of their own, with any level. Compares scalars, because CR and LF together are one character.
    private static func onOneLine(_ text: String) -> String {
        var line = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            line.append(scalar.properties.generalCategory == .control ? " " : scalar)
        }
        return String(line)
    }

    private static let time = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    private static func json(_ value: Logger.Metadata.Value) -> String {
        switch value {
        case .string(let text): JSONString.quoted(text)
        case .stringConvertible(let value): json(value)
        case .array(let values): "[\(values.map(json).joined(separator: ","))]"
        case .dictionary(let values):
            "{"
                + values.sorted { $0.key < $1.key }.map { "\(JSONString.quoted($0.key)):\(json($0.value))" }
                .joined(separator: ",") + "}"
        }
    }

    /// Writes a value as JSON. Numbers stay numbers.
    private static func json(_ value: any CustomStringConvertible) -> String {
        switch value {
        case let number as any FixedWidthInteger: number.description
        case let truth as Bool: truth.description
        default: JSONString.quoted(value.description)
        }
    }
}

extension Logger.Level {
    /// The priority of syslog(3).
    fileprivate var priority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}

extension LogFormat {
    /// The handler for this format.
    func handler(label: String, environment: [String: String]) -> any LogHandler {
        switch self {
        case .json: LineLogHandler(.json, label: label)
        case .text where Self.isJournal(environment): LineLogHandler(.journal, label: label)
        case .text: StreamLogHandler.standardError(label: label)
        }
    }

    /// Whether a person may be reading the output, and not systemd's journal or a program that collects logs.
    func isForPeople(environment: [String: String]) -> Bool { self == .text && !Self.isJournal(environment) }

    /// Whether standard error is systemd's journal.
    /// - Parameter environment: the process's variables. systemd gives the device and the inode of the journal's stream
    ///   (systemd.exec(5)). Compare them with those of standard error, because the variable is inherited: on a desktop
    ///   that systemd has started, the shell in a terminal has it too.
    private static func isJournal(_ environment: [String: String]) -> Bool {
        guard let stream = environment["JOURNAL_STREAM"] else { return false }
        return stream == FileIdentity(ofOpen: STDERR_FILENO)?.text
    }
}
