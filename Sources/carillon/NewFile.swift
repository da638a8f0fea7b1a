import Foundation
import Service

/// A file that a command is to write something new to: a key, or a certificate.
struct NewFile {
    private let path: String

    /// - Parameter path: there must not be such a file yet.
    init(_ path: String) { self.path = path }

    /// Makes the file before what is to be in it is made, so that nothing is made that nobody can have; takes it away
    /// again where that fails.
    /// - Parameter text: what is in it meanwhile.
    func fill<Made>(
        with text: String = "",
        _ make: () async throws -> (bytes: [UInt8], made: Made),
    ) async throws -> Made {
        try DataFolder.write(text, to: path, replacing: false)
        do {
            let (bytes, made) = try await make()
            try DataFolder.write(bytes, to: path)
            return made
        } catch {
            try? FileManager.default.removeItem(atPath: path)  // The first error is the one to tell.
            throw error
        }
    }
}
