import Foundation

/// Runs a program and waits for its end.
///
/// Input and output are files. Other programs that tests start meanwhile would inherit the ends of pipes, and the end
/// of the output would only be seen when these programs have ended too.
struct Command {
    var status: Int32
    var output: String
    var errors: String

    static func run(_ name: String, _ arguments: [String], input: String = "") async throws -> Command {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("command-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let files = ["input", "output", "errors"].map { folder.appendingPathComponent($0) }
        try Data(input.utf8).write(to: files[0])
        for file in files.dropFirst() { try Data().write(to: file) }

        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [name] + arguments
        process.standardInput = try FileHandle(forReadingFrom: files[0])
        process.standardOutput = try FileHandle(forWritingTo: files[1])
        process.standardError = try FileHandle(forWritingTo: files[2])
        let status: Int32 = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
            } catch {
                continuation.resume(throwing: error)
            }
        }
        let texts = try files.map { String(decoding: try Data(contentsOf: $0), as: UTF8.self) }
        try FileManager.default.removeItem(at: folder)
        return Command(status: status, output: texts[1], errors: texts[2])
    }
}
