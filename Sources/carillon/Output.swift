import Foundation
import Service

/// What a command prints: for people, or one JSON object a line for programs.
struct Output: Sendable {
    let isJSON: Bool

    /// Prints one of the two.
    /// - Parameter text: nil where a person needs no line.
    func print(_ object: some Encodable, _ text: @autoclosure () -> String?) {
        if isJSON {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
            // Every object printed here consists of text and numbers, which always can be encoded.
            if let data = try? encoder.encode(object) { Self.write(data) }
        } else if let text = text() {
            Self.write(Data(text.utf8))
        }
    }

    /// Prints a line that is JSON already, or the text for people.
    func printRaw(_ json: @autoclosure () -> String, _ text: @autoclosure () -> String) {
        Self.write(Data((isJSON ? json() : text()).utf8))
    }

    /// Writes one line at once, so that lines of several tasks do not mix and a reader of a pipe gets it now.
    private static func write(_ line: Data) {
        do {
            try FileHandle.standardOutput.write(contentsOf: line + Data("\n".utf8))
        } catch {
            // Whoever read it is gone, or the disk is full.
            note("Standard output cannot be written: \(DataFolder.reason(error)).")
            exit(1)
        }
    }

    /// Writes a line for people on standard error.
    static func note(_ text: String) {
        // Where nobody reads it, nobody misses it.
        try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    }
}
