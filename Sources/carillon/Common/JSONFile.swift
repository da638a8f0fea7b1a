import CommandSupport
import Foundation
import Notifications

/// A JSON document in a file that an argument names, or on standard input.
struct JSONFile {
    /// The path, or `-` for standard input.
    let path: String

    /// - Parameter meaning: what the file contains, for the error.
    func read(_ meaning: String = "document") throws -> JSONValue {
        let data = path == "-" ? FileHandle.standardInput.readDataToEndOfFile() : try InputFile.read(path, meaning)
        return try Self.value(of: data, path)
    }

    /// Calls `body` with the document, and adds the file's name to its error.
    func send<Answer>(_ meaning: String = "document", _ body: (JSONValue) async throws -> Answer) async throws -> Answer
    {
        let document = try read(meaning)
        do {
            return try await body(document)
        } catch let error as CommandError {
            throw error.inFile(path)
        }
    }

    /// - Parameter name: the name of the text, for the error.
    static func value(of text: Data, _ name: String) throws -> JSONValue {
        do throws(JSONFault) {
            return try JSONValue(document: Array(text), maximumDepth: JSONValue.answerDepth)
        } catch {
            guard !error.pointer.isEmpty else { throw CommandError(error.detail(of: name)) }
            throw CommandError(error.detail(of: "It"), at: error.pointer).inFile(name)
        }
    }
}
