import CommonTesting
import Foundation

/// The `carillon` command that was built with these tests.
enum BuiltCommand {
    static let path: String = {
        var folders = [URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()]
        folders += (Bundle.allBundles + [Bundle.main]).flatMap { bundle in
            [bundle.executableURL?.deletingLastPathComponent(), bundle.bundleURL.deletingLastPathComponent()]
        }.compactMap { $0 }
        let paths = folders.map { $0.appendingPathComponent("carillon").path }
        // If the command is missing, the first test that starts it names the path.
        return paths.first { FileManager.default.isExecutableFile(atPath: $0) } ?? paths[0]
    }()

    /// The program with the device agent alone, which lies beside the command.
    static let agentPath = path + "-agent"

    /// Runs the command and waits for its end.
    static func run(
        _ arguments: [String],
        environment: [String: String] = [:],
        folder: String? = nil,
        input: [UInt8] = [],
    ) async throws -> ChildProcess.Finished {
        try await ChildProcess.run(path, arguments, environment: environment, folder: folder, input: input)
    }
}
