import Foundation

/// The `openssl` command, which gives a second opinion on keys and certificates.
package enum OpenSSL {
    package struct Result {
        package let status: Int32
        package let output: String
    }

    /// Runs openssl in a new folder that contains `files` and is removed afterwards. Returns the output and the
    /// errors together.
    package static func run(_ arguments: [String], files: [String: String]) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "trust-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // Ignore a failure to remove the folder: it does no harm if it stays.
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in files {
            try Data(text.utf8).write(to: folder.appending(path: name))
        }
        let finished = try await ChildProcess.run("openssl", arguments, folder: folder.path)
        return Result(status: finished.status, output: finished.output + finished.errors)
    }
}
