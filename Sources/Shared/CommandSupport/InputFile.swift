import Connections
package import Foundation

/// Reads a file that an option names.
package enum InputFile {
    /// - Parameter meaning: what the file should contain, for the error message.
    package static func read(_ path: String, _ meaning: String) throws -> Data {
        do {
            return try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw CommandError("The \(meaning) \(path) cannot be read: \(ConnectionFailure.ofFile(error)).")
        }
    }
}
