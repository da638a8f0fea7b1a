import CommonTesting
import Foundation
import Testing

extension BuiltCommand {
    /// Runs a server in a situation in which it must not start.
    static func startInVain(
        _ arguments: [String],
        environment: [String: String] = [:],
    ) async throws -> ChildProcess.Finished {
        try await ChildProcess.with(path, arguments, environment: environment) { child in
            // If the server starts nevertheless, its ready line ends the wait.
            if await child.output.nextLine() != nil { child.signal(SIGTERM) }
            return await child.finished()
        }
    }
}

/// Expects that a command failed with one line, which has these words and no password of a test.
/// - Parameter statuses: the exit statuses that are allowed. Those from 128 on mean that a signal ended the command.
func expectOneLine(
    _ finished: ChildProcess.Finished,
    _ statuses: ClosedRange<Int32> = 1...127,
    naming words: String...,
    sourceLocation: SourceLocation = #_sourceLocation,
) {
    #expect(statuses.contains(finished.status), sourceLocation: sourceLocation)
    #expect(finished.output.isEmpty, sourceLocation: sourceLocation)
    #expect(finished.errors.split(separator: "\n").count == 1, "\(finished.errors)", sourceLocation: sourceLocation)
    for word in words {
        #expect(finished.errors.contains(word), "\(finished.errors)", sourceLocation: sourceLocation)
    }
    #expect(!finished.errors.contains("Secret123"), sourceLocation: sourceLocation)
}
