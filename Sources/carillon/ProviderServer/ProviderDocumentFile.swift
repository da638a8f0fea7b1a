import Foundation
import Notifications

/// A JSON file that a command sends to the provider server, or standard input.
struct ProviderDocumentFile {
    /// The path, or `-` for standard input.
    let path: String

    /// - Parameter meaning: what the file contains, for the error.
    func read(_ meaning: String) throws -> JSONValue {
        let data =
            path == "-" ? FileHandle.standardInput.readDataToEndOfFile() : try InputFile.read(path, meaning)
        do {
            return try JSONDecoder().decode(JSONValue.self, from: data)
        } catch {
            throw CommandError("\(path) is not JSON.")
        }
    }

    /// Calls `body`, and adds the file's name to its error.
    func named<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as CommandError {
            throw error.inFile(path)
        }
    }
}
