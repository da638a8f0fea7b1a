import Foundation
import Service

/// A file that an option names.
enum InputFile {
    /// - Parameter meaning: what it is to hold, for the error.
    static func read(_ path: String, _ meaning: String) throws -> Data {
        do {
            return try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw CommandError("The \(meaning) \(path) cannot be read: \(DataFolder.reason(error)).")
        }
    }
}
