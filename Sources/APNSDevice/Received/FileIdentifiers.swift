import Foundation
import Notifications
import Synchronization

/// Keeps the newest identifiers in a file, so that nothing is shown twice after a restart either.
///
/// One line for each: a line is added at the end, and when there are many more than are kept the file is written anew.
public final class FileIdentifiers: ReceivedIdentifiers {
    /// How many times what is kept the file may hold.
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

    /// Opens the file, or makes it.
    /// - Parameters:
    ///   - path: the file's; it is a program's own.
    ///   - capacity: how many are kept, at most 1,000,000.
    public init(path: String, capacity: Int = 1000) throws(DeviceError) {
        self.path = path
        self.capacity = min(max(1, capacity), 1_000_000)
        var recent = RecentIdentifiers(capacity: self.capacity)
        // Where there is none, none was received.
        let text = FileManager.default.contents(atPath: path) ?? Data()
        let newest = text.suffix(self.capacity * Self.slack * Self.lineBytes)
        // The last line may have been cut off; what is no identifier is passed over.
        for line in newest.split(separator: UInt8(ascii: "\n")) {
            if let identifier = NotificationID(String(decoding: line, as: UTF8.self)) { recent.insert(identifier) }
        }
        state = Mutex(State(recent: recent, lines: recent.all.count, file: try Self.write(recent, to: path)))
    }

    /// Writes the file anew, and opens it at its end.
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

    public func contains(_ identifier: String) -> Bool {
        state.withLock { $0.recent.contains(identifier) }
    }

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
