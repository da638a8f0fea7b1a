import Foundation
import Notifications
import Synchronization

/// A store that keeps the newest identifiers in a file, so that no notification is shown twice, even after a
/// restart.
///
/// The file has one line for each identifier. New lines are appended. When the file has four times as many lines as
/// are kept, it is written again.
public final class FileIdentifiers: ReceivedIdentifiers {
    /// The file's largest number of lines, as a multiple of the capacity.
    private static let slack = 4
    private static let lineBytes = NotificationID.textLength + 1

    private struct State {
        var recent: RecentIdentifiers
        var lines: Int
        var file: FileHandle
    }

    private let path: String
    private let capacity: Int
    private let state: Mutex<State>

    /// Opens the file, or creates it.
    /// - Parameters:
    ///   - path: the file's path. Each program needs its own file.
    ///   - capacity: the number of identifiers to keep, at most 1,000,000.
    /// - Throws: ``DeviceError/Code/storage`` if the file cannot be written.
    public init(path: String, capacity: Int = 1000) throws(DeviceError) {
        self.path = path
        self.capacity = min(max(1, capacity), 1_000_000)
        var recent = RecentIdentifiers(capacity: self.capacity)
        // If there is no file, no notification was received before.
        let text = FileManager.default.contents(atPath: path) ?? Data()
        let newest = text.suffix(self.capacity * Self.slack * Self.lineBytes)
        // The last line may be incomplete. Lines that are not identifiers are skipped.
        for line in newest.split(separator: UInt8(ascii: "\n")) {
            if let identifier = NotificationID(String(decoding: line, as: UTF8.self)) { recent.insert(identifier) }
        }
        state = Mutex(State(recent: recent, lines: recent.all.count, file: try Self.write(recent, to: path)))
    }

    /// Writes the file again and opens it for appending.
    private static func write(_ recent: RecentIdentifiers, to path: String) throws(DeviceError) -> FileHandle {
        let text = recent.all.map { "\($0)\n" }.joined()
        try OwnFile.write(Data(text.utf8), to: path)
        guard let file = FileHandle(forWritingAtPath: path) else {
            throw DeviceError(.storage, "\(path) cannot be written.")
        }
        do {
            try file.seekToEnd()
        } catch {
            throw DeviceError(.storage, "\(path) cannot be written: \(error)")
        }
        return file
    }

    /// Whether a notification with this identifier was received before.
    public func contains(_ identifier: String) -> Bool {
        state.withLock { $0.recent.contains(identifier) }
    }

    /// Records that a notification was received.
    /// - Throws: An error if the file cannot be written.
    public func insert(_ identifier: String) throws {
        guard let identifier = NotificationID(identifier) else { return }
        try state.withLock { state in
            guard state.recent.insert(identifier) else { return }
            if state.lines >= capacity * Self.slack {
                state.file = try Self.write(state.recent, to: path)
                state.lines = state.recent.all.count
            } else {
                try state.file.write(contentsOf: Data("\(identifier)\n".utf8))
                state.lines += 1
            }
        }
    }
}
