import Connections
import Foundation
import Notifications

/// Prints the results of a command: text for people, or one JSON object on each line for programs.
package struct Output: Sendable {
    package let isJSON: Bool

    package init(isJSON: Bool) { self.isJSON = isJSON }

    /// Prints the object or the text.
    /// - Parameter text: nil if people need no line.
    package func print(_ object: some Encodable, _ text: @autoclosure () -> String?) {
        if isJSON {
            // Encoding cannot fail, because all objects printed here consist of texts and numbers.
            if let value = try? JSONValue(encoding: object) { Self.write(Data(value.text.utf8)) }
        } else if let text = text() {
            Self.write(Data(text.utf8))
        }
    }

    /// Prints a line of JSON, or the text for people.
    package func printRaw(_ json: @autoclosure () -> String, _ text: @autoclosure () -> String) {
        Self.write(Data((isJSON ? json() : text()).utf8))
    }

    /// Writes a line at once. So lines of several tasks do not mix, and the reader of a pipe gets each line without
    /// delay.
    private static func write(_ line: Data) {
        do {
            try FileHandle.standardOutput.write(contentsOf: line + Data("\n".utf8))
        } catch {
            // The reader is gone, or the disk is full.
            printDiagnostic("Standard output cannot be written: \(ConnectionFailure.ofFile(error)).")
            exit(1)
        }
    }

    /// Writes a line for people on standard error.
    package static func printDiagnostic(_ text: String) {
        // Ignore a failure: nobody could be told about it.
        try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    }
}
