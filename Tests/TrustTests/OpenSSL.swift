import Foundation

/// The `openssl` command, as a second opinion on what is issued here.
enum OpenSSL {
    struct Result {
        let status: Int32
        let output: String
    }

    /// Runs it in a new folder that holds `files` and is removed afterwards. Output and errors are returned together.
    static func run(_ arguments: [String], files: [String: String]) throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "trust-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }  // A folder left behind fails no test.
        for (name, text) in files {
            try Data(text.utf8).write(to: folder.appending(path: name))
        }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.currentDirectoryURL = folder
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return Result(status: process.terminationStatus, output: String(decoding: data, as: UTF8.self))
    }
}
