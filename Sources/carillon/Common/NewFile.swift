import Foundation
import Service

/// A new file for a command's result: a key, a certificate, or a device identity.
struct NewFile {
    private let path: String

    /// - Parameter path: a file that must not exist yet.
    init(_ path: String) { self.path = path }

    /// Creates the file before its contents are made, so that no key is made that cannot be saved. If making the
    /// contents fails, removes the file.
    /// - Parameter text: the contents of the file until then.
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
            try? FileManager.default.removeItem(atPath: path)  // Report the first error, not this one.
            throw error
        }
    }
}
